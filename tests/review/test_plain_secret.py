"""A Secret that a file of a repository has whole is a finding, and its values are in no report."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.review import checked, trees
from trainer_infra.review import source_objects, sources
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Report


def secret(part: str = "stringData", **values: str) -> str:
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub"}, part: values}
    return yaml.safe_dump(value)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def found(text: str) -> Report:
    return checked.of_text(text, "literal-secrets")


GOOGLE = json.dumps(
    {
        "type": "service_account",
        "project_id": "acme",
        "private_key": "-----BEGIN PRIVATE KEY-----\nMIIE",
    }
)
AWS = "[default]\naws_access_key_id = AKIAQYLPMN5HNM3TVC2D\naws_secret_access_key = kWcrlUX5JEDGMLPUxFiCY"
DOCKER = json.dumps({"auths": {"r.example": {"auth": "dGVhbTpTdW1tZXJWaXNpb24="}}})
RCLONE = "[gcs]\ntype = s3\nprovider = AWS\nsecret_access_key = SummerVision2026"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (secret(ACCESS_TOKEN="SummerVision2026"), "stringData.ACCESS_TOKEN"),
        (secret("data", password=encoded("minioadmin")), "data.password"),
        (secret("data", password="not base64!"), "data.password"),
        (secret(user="minio", password="minioadmin"), "stringData.password"),
        (secret(**{"key.json": GOOGLE}), "stringData[key.json]"),
        (secret("data", **{"key.json": encoded(GOOGLE)}), "data[key.json]"),
        (secret(credentials=AWS), "stringData.credentials"),
        (secret(**{".dockerconfigjson": DOCKER}), "stringData[.dockerconfigjson]"),
        (secret("data", **{".dockerconfigjson": encoded(DOCKER)}), "data[.dockerconfigjson]"),
        (secret(**{"rclone.conf": RCLONE}), "stringData[rclone.conf]"),
        (secret(**{".env": "HF_TOKEN=SummerVision2026"}), "stringData[.env]"),
        (secret(**{"config.yaml": "host: a\npassword: Kirschbaum"}), "stringData[config.yaml]"),
        (secret(password="$ecret-Kirschbaum"), "stringData.password"),
        (secret(password="P@$$w0rd!"), "stringData.password"),
        (secret(password="change-Kirschbaum-2031!"), "stringData.password"),
        (secret(password="your2Dogs&cat"), "stringData.password"),
        (secret(password="<Kirsch>baum"), "stringData.password"),
        (secret(password="{not a placeholder"), "stringData.password"),
        (secret(password="[Kirsch]baum"), "stringData.password"),
        (secret(password="%Kirschbaum"), "stringData.password"),
        (secret(user="hf_abcdefghijABCDEFGHIJ0123456789abcd"), "stringData.user"),
        (secret(url="postgres://team:Kirschbaum@db/x"), "stringData.url"),
        (secret(url="postgres://team:${PW}@db/x", token="Kirschbaum"), "stringData.token"),
        (secret(password="${PASSWORD:-SummerVision2026}"), "stringData.password"),
        (secret(pin="20312031").replace("'20312031'", "20312031"), "stringData.pin"),
        (secret(**{".netrc": "machine h\nlogin me\npassword Kirschbaum"}), "stringData[.netrc]"),
        (secret(**{".pgpass": "db:5432:x:me:Kirschbaum"}), "stringData[.pgpass]"),
        (secret(**{".my.cnf": "[client]\nuser=me\npassword=Kirschbaum"}), "stringData[.my.cnf]"),
        (
            secret(**{"pip.conf": "[global]\nindex-url = https://me:Kirsch@h/s"}),
            "stringData[pip.conf]",
        ),
        (secret(**{".npmrc": "//r.example.com/:_authToken=Kirschbaum"}), "stringData[.npmrc]"),
        (
            secret(**{".pypirc": "[pypi]\nusername = a\npassword = Kirschbaum"}),
            "stringData[.pypirc]",
        ),
        (
            secret(**{".git-credentials": "https://me:Kirsch@git.example"}),
            "stringData[.git-credentials]",
        ),
        (
            secret(kubeconfig="users:\n- name: a\n  user:\n    token: Kirschbaum"),
            "stringData.kubeconfig",
        ),
    ],
)
def test_what_a_secret_is_to_keep_is_found_in_a_file(text: str, path: str) -> None:
    (item,) = found(text).failing()
    assert item.path == path
    assert item.severity == "critical"


def test_all_of_one_secret_is_one_finding() -> None:
    (item,) = found(secret(a="SummerVision2026", b="WinterVision2027", c="Other1")).failing()
    assert item.what == "is a secret that everyone who reads this file can use, as 2 more"


@pytest.mark.parametrize(
    "text",
    [
        secret(),
        secret(password=""),
        secret(password="<your password>"),
        secret(password="${PASSWORD}"),
        secret(password="changeme"),
        secret(password="xxxxxxxx"),
        secret("data", password=encoded("REPLACE_ME")),
        secret(**{"ca.crt": "-----BEGIN CERTIFICATE-----", "username": "team"}),
        secret(**{"id.pub": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEx8 team"}),
        *(
            secret(password=each)
            for each in (
                "$(PASSWORD)",
                "$PASSWORD",
                "{{ .Values.password }}",
                "{password}",
                "[your password]",
                "%(password)s",
                "%PASSWORD%",
                "@PASSWORD@",
                "<path:kv/data/hub#token>",
                "change-me",
                "YOUR_TOKEN_HERE",
                "yourTokenHere",
                "insert-hf-token-here",
                "replace_with_real_value",
                "TODO: set password",
                "hf_xxxxxxxxxxxxxxxx",
                "********",
                "...",
                "vault:kv/data/hub#token",
                "ref+vault://kv/hub#/token",
                "op://ml/hub/token",
                "ENC[AES256_GCM,data:a,type:str]",
                "Bearer ${TOKEN}",
                "postgres://team:${PW}@db/x",
            )
        ),
        secret(**{".dockerconfigjson": '{"auths": {}}'}),
        secret(**{".dockerconfigjson": '{"auths": {"r": {"auth": "<base64>"}}}'}),
        secret(**{"key.json": '{"type": "service_account", "private_key": "${KEY}"}'}),
        secret(
            credentials="[default]\naws_access_key_id = ${ID}\naws_secret_access_key = ${KEY}\n"
        ),
        secret(**{"rclone.conf": "[s3]\ntype = s3\nprovider = AWS\nsecret_access_key = <key>"}),
        secret(**{"hub.enc": '{"data": "ENC[AES256_GCM,data:a]", "sops": {"version": "3.9.0"}}'}),
        secret("data", TOKEN=encoded("ENC[AES256_GCM,data:a]"), sops_version=encoded("3.9.0")),
        f"{secret(password='ENC[AES256_GCM,data:a]')}sops: {{}}\n",
        secret(password="SummerVision2026").replace("Secret", "SealedSecret"),
    ],
)
def test_what_is_filled_in_later_or_open_is_none(text: str) -> None:
    assert found(text).items == ()


def test_a_secret_that_a_cluster_prints_is_none_of_a_file() -> None:
    text = secret(password="SummerVision2026").replace("name: hub", "name: hub\n  uid: 6f0e")
    assert found(text).items == ()


def test_what_a_tool_has_built_of_a_file_is_found_as_well() -> None:
    (document,) = source_objects.of_text(secret(password="SummerVision2026"), "a.yaml").documents
    built = replace(
        document, value={**document.value, "metadata": {"name": "x"}}, is_editable=False
    )
    assert [each.path for each in checked.of([built], "literal-secrets").items] == [
        "stringData.password"
    ]
    drawn = replace(built, drawn=frozenset({("stringData", "password")}))
    assert checked.of([drawn], "literal-secrets").items == ()


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_it(form: str) -> None:
    report = found(secret("data", password=encoded("SummerVision2026")))
    told = FORMATS[form](report)
    assert "password" in told
    assert "SummerVision2026" not in told
    assert encoded("SummerVision2026") not in told


SECRET = secret(pw="SummerVision2026")
OPEN = secret(user="team")
CHART = "apiVersion: v2\nname: c\nversion: 0.1.0\n"
BUILDS = {
    "a namespace": {"s.yaml": SECRET, "kustomization.yaml": "resources: [s.yaml]\nnamespace: x\n"},
    "an overlay": {
        "base/s.yaml": SECRET,
        "base/kustomization.yaml": "resources: [s.yaml]\n",
        "dev/kustomization.yaml": "resources: [../base]\ncommonAnnotations: {a: b}\n",
    },
    "a component": {
        "part/s.yaml": SECRET,
        "part/kustomization.yaml": "kind: Component\nresources: [s.yaml]\n",
        "dev/kustomization.yaml": "components: [../part]\n",
    },
    "a patch": {
        "s.yaml": OPEN,
        "p.yaml": SECRET,
        "kustomization.yaml": "resources: [s.yaml]\npatches: [{path: p.yaml}]\n",
    },
    "a patch of RFC 6902": {
        "s.yaml": OPEN,
        "p.yaml": "- {op: add, path: /stringData/pw, value: SummerVision2026}\n",
        "kustomization.yaml": "resources: [s.yaml]\npatches: [{path: p.yaml, target: {kind: Secret}}]\n",
    },
    "a replacement": {
        "s.yaml": OPEN,
        "c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: SummerVision2026}\n",
        "kustomization.yaml": """\
resources: [s.yaml, c.yaml]
replacements:
- source: {kind: ConfigMap, fieldPath: data.x}
  targets: [{select: {kind: Secret}, fieldPaths: [stringData.pw], options: {create: true}}]
""",
    },
    "literals": {
        "kustomization.yaml": "secretGenerator: [{name: p, literals: [pw=SummerVision2026]}]\n"
    },
    "variables": {
        "a.env": "pw=SummerVision2026\n",
        "kustomization.yaml": "secretGenerator: [{name: p, envs: [a.env]}]\n",
    },
    "files": {
        "token": "SummerVision2026",
        "kustomization.yaml": "secretGenerator: [{name: p, files: [token]}]\n",
    },
    "a merged generator": {
        "base/kustomization.yaml": "secretGenerator: [{name: p, literals: [user=team]}]\n",
        "dev/kustomization.yaml": """\
resources: [../base]
secretGenerator: [{name: p, behavior: merge, literals: [pw=SummerVision2026]}]
""",
    },
    "a ConfigMap's literals": {
        "kustomization.yaml": "configMapGenerator: [{name: p, literals: [pw=SummerVision2026]}]\n"
    },
    "a ConfigMap's file": {
        "db.ini": "[db]\npassword = SummerVision2026\n",
        "kustomization.yaml": "configMapGenerator: [{name: p, files: [db.ini]}]\n",
    },
    "a generator's file": {
        "g.yaml": "apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: p}\nliterals: [pw=SummerVision2026]\n",
        "kustomization.yaml": "generators: [g.yaml]\n",
    },
    "a template": {"Chart.yaml": CHART, "templates/s.yaml": SECRET},
    "values": {
        "Chart.yaml": CHART,
        "values.yaml": "pw: SummerVision2026\n",
        "templates/s.yaml": secret(pw="VALUE").replace("VALUE", "{{ .Values.pw | quote }}"),
    },
    "values in base64": {
        "Chart.yaml": CHART,
        "values.yaml": "pw: SummerVision2026\n",
        "templates/s.yaml": secret("data", pw="VALUE").replace(
            "VALUE", "{{ .Values.pw | b64enc }}"
        ),
    },
    "values of a ConfigMap": {
        "Chart.yaml": CHART,
        "values.yaml": "env: {DB_PASSWORD: SummerVision2026}\n",
        "templates/c.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
{{ toYaml .Values.env | indent 2 }}
""",
    },
}
OPEN_BUILDS = {
    "drawn": {
        "Chart.yaml": CHART,
        "templates/s.yaml": secret(pw="VALUE").replace("VALUE", "{{ randAlphaNum 24 | quote }}"),
    },
    "a value to be replaced": {
        "Chart.yaml": CHART,
        "values.yaml": "pw: changeme\n",
        "templates/s.yaml": secret(pw="VALUE").replace("VALUE", "{{ .Values.pw | quote }}"),
    },
    "a literal to be replaced": {
        "kustomization.yaml": 'secretGenerator: [{name: p, literals: ["pw=${PASSWORD}", user=team]}]\n'
    },
}


def built(files: dict[str, str], folder: Path) -> Report:
    trees.write(files, folder)
    read = sources.read_sources([str(folder)])
    assert read.problems == ()
    return checked.of(read.documents, "literal-secrets")


@pytest.mark.usefixtures("kubectl_on_path", "helm_on_path")
@pytest.mark.parametrize("build", BUILDS)
def test_whatever_builds_it_it_is_found_once_at_a_file_of_its_own(
    build: str, tmp_path: Path
) -> None:
    report = built(BUILDS[build], tmp_path)
    (item,) = report.failing()
    assert Path(item.place.file).relative_to(tmp_path).as_posix() in BUILDS[build]
    for form, make in FORMATS.items():
        assert "SummerVision2026" not in make(report), form


@pytest.mark.usefixtures("kubectl_on_path", "helm_on_path")
@pytest.mark.parametrize("build", OPEN_BUILDS)
def test_what_is_built_without_a_secret_has_none(build: str, tmp_path: Path) -> None:
    assert built(OPEN_BUILDS[build], tmp_path).items == ()


OF_OTHER_KINDS = {
    "a workflow": "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\n"
    "spec: {templates: [{container: {env: [{name: DB_PASSWORD, value: SummerVision2026}]}}]}\n",
    "an application": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
    "spec: {source: {helm: {parameters: [{name: db.password, value: SummerVision2026}]}}}\n",
    "a release": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
    "spec: {values: {auth: {rootPassword: SummerVision2026}}}\n",
    "the note of a Secret": "apiVersion: v1\nkind: Secret\n"
    "metadata: {name: a, annotations: {note: password=SummerVision2026}}\n",
}
OPEN_KINDS = {
    "an ExternalSecret": "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\n"
    "spec: {data: [{secretKey: db_password, remoteRef: {key: ml/hub, property: password}}]}\n",
    "a SealedSecret": "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: a}\n"
    "spec: {encryptedData: {password: AgBy3i4OJSWK+PiTySYZZA9rO43cGDEq7Xk2ZQpT8mN1bV5cD6fG7hJ8}}\n",
    "what the driver of a store mounts": "apiVersion: secrets-store.csi.x-k8s.io/v1\nkind: SecretProviderClass\n"
    "metadata: {name: a}\nspec: {secretObjects: [{secretName: hf, data: [{key: token, objectName: HFToken2024}]}]}\n",
    "a certificate's store": "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\n"
    "spec: {keystores: {jks: {passwordSecretRef: {key: password-key, name: jks-password}}}}\n",
    "what describes a field": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
    "spec: {versions: [{schema: {openAPIV3Schema: {description: 'as in password=SummerVision2026'}}}]}\n",
    "what SOPS has encrypted": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
    'spec: {values: {password: "ENC[AES256_GCM,data:aB3dE6gH9j,iv:x,tag:y,type:str]"}}\n',
    "a webhook": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
    f"metadata: {{name: a}}\nwebhooks: [{{clientConfig: {{caBundle: {encoded('-----BEGIN CERTIFICATE-----')}}}}}]\n",
    "a chart's values by reference": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
    "metadata: {name: a}\nspec: {values: {auth: {existingSecret: hub-7hk4tm2g9d, secretKey: password}}}\n",
}


@pytest.mark.parametrize("kind", OF_OTHER_KINDS)
def test_an_object_of_any_kind_is_searched(kind: str) -> None:
    report = found(OF_OTHER_KINDS[kind])
    assert len(report.failing()) == 1
    assert "SummerVision2026" not in FORMATS["json"](report)


@pytest.mark.parametrize("kind", OPEN_KINDS)
def test_what_only_refers_to_a_secret_or_is_encrypted_is_none(kind: str) -> None:
    assert found(OPEN_KINDS[kind]).items == ()
