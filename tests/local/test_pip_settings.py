"""What pip is set to, said to uv."""

from trainer_infra.local import pip_settings


def test_the_settings_that_count_are_the_installations_own_and_the_environments_last() -> None:
    lines = (
        ":env:.index-url='http://environment'",
        "global.index-url='http://global'",
        "global.timeout='60'",
        "install.timeout='90'",
        "download.timeout='1'",
        "install.find-links='\\n/one\\n/two'",
        "not a setting",
    )
    assert pip_settings.pip_settings(lines) == {
        "index-url": "http://environment",
        "timeout": "90",
        "find-links": "\n/one\n/two",
    }


def test_each_setting_has_its_variable() -> None:
    settings = {
        "index-url": "http://main",
        "extra-index-url": "http://more http://most",
        "find-links": "\n/one\n/two",
        "trusted-host": "main more",
        "constraint": "/constraints.txt",
        "cert": "/bundle.pem",
        "timeout": "90",
        "retries": "2",
        "quiet": "1",
    }
    assert pip_settings.not_passed_on(settings) == ""
    assert pip_settings.for_uv(settings, {"SSL_CERT_FILE": "/machine.pem"}) == {
        "UV_DEFAULT_INDEX": "http://main",
        "UV_INDEX": "http://more http://most",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/one,/two",
        "UV_INSECURE_HOST": "main more",
        "UV_CONSTRAINT": "/constraints.txt",
        "SSL_CERT_FILE": "/bundle.pem",
        "UV_HTTP_TIMEOUT": "90",
        "UV_HTTP_RETRIES": "2",
    }


def test_indexes_that_the_user_names_to_uv_stand_alone() -> None:
    settings = {"index-url": "http://main", "extra-index-url": "http://more", "timeout": "90"}
    for own in ("UV_INDEX_URL", "UV_INDEX"):
        assert pip_settings.for_uv(settings, {own: "http://own"}) == {"UV_HTTP_TIMEOUT": "90"}
    said = pip_settings.for_uv(settings, {"UV_HTTP_TIMEOUT": "5"})
    assert "UV_HTTP_TIMEOUT" not in said


def test_a_setting_without_counterpart_is_named() -> None:
    for name in ("only-binary", "no-index", "require-hashes", "client-cert"):
        assert pip_settings.not_passed_on({"quiet": "1", name: "1"}) == name


def test_without_pip_its_variables_are_the_settings() -> None:
    environment = {"PIP_EXTRA_INDEX_URL": "http://more", "PIP_CONFIG_FILE": "/f", "HOME": "/h"}
    assert pip_settings.pip_variables(environment) == {"extra-index-url": "http://more"}
