"""What is a secret in a text, whatever language it is written in, and what only sounds like one."""

import base64

import pytest

from trainer_infra.names import SECRET_SHOWN
from trainer_infra.secret_texts import texts

RANDOM = "qW3eR5tY7uI9oP1aS2dF"
HEX = "3f9a1c7e5b2d8046af13c97be205d486ab7f9e10"
CHOSEN = "SummerVision2026"
LETTERS = "aB3dE6gH9j"
TOKEN = "hf_" + LETTERS * 4

FORMS = (
    *(
        "ghp_" + LETTERS * 4,
        "gho_" + LETTERS * 4,
        "ghs_" + LETTERS * 4,
        "github_pat_" + LETTERS * 4,
    ),
    *("glpat-" + LETTERS * 2, "gldt-" + LETTERS * 2, "xoxb-" + "123456789012-AbCdEfGh"),
    *("sk-ant-" + "api03-" + LETTERS * 3, "sk-proj-" + LETTERS * 3, "sk-" + HEX[:32]),
    *("sk-or-v1-" + HEX, "nvapi-" + LETTERS * 4, "r8_" + LETTERS * 4, "gsk_" + LETTERS * 5),
    *("tvly-" + LETTERS * 3, "pcsk_" + LETTERS * 5, "lsv2_pt_" + HEX[:32] + "_" + HEX[:10]),
    *("dapi" + HEX[:32], "dop_v1_" + HEX * 2, "dckr_pat_" + LETTERS * 3, "npm_" + LETTERS * 4),
    *("pypi-AgEI" + LETTERS * 6, "hvs." + LETTERS * 3, "SG." + LETTERS * 2 + "." + LETTERS * 4),
    *("rk_live_" + LETTERS * 2, "AKIA" + "QYLPMN5HNM3TVC2D", "ASIA" + "QYLPMN5HNM3TVC2D"),
    *("AIza" + "SyA-" + LETTERS * 3, "ya29." + LETTERS * 3, "GOCSPX-" + LETTERS * 3),
    *("eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiJ0cmFpbiJ9." + LETTERS, "LTAI" + LETTERS * 2),
    *("AGE-SECRET-KEY-" + "1QQQQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "PuTTY-User-Key-File-3: rsa"),
    *(
        f"-----BEGIN {kind}PRIVATE KEY-----"
        for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
    ),
    *(
        "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
        "---- BEGIN SSH2 ENCRYPTED " + "PRIVATE KEY ----",
    ),
    '{"private_key": "-----BEGIN ' + 'PRIVATE KEY-----\\nMIIE"}',
    f"AccountName=a;AccountKey={LETTERS * 9}==",
    f"https://a.webhook.office.com/webhookb2/{LETTERS}@{LETTERS}/IncomingWebhook/{LETTERS * 2}/{LETTERS}",
    "https://b.s3.amazonaws.com/a?X-Amz-Signature=" + "3f9a1c7e5b2d8046" * 4,
    f"https://a.blob.core.windows.net/b?sv=2024&sig={LETTERS * 5}%3D",
    *(
        f"{scheme}://a:{password}@host/x"
        for scheme in ("postgres", "redis", "amqp", "mongodb+srv", "https")
        for password in ("hunter2", "$ecret-2031", CHOSEN)
    ),
    f"a:{CHOSEN}@tcp(host:3306)/x",
    f"x\\n{TOKEN}",
    f"a%3D{TOKEN}",
)
FILES = (
    f"machine host\n  login me\n  password {CHOSEN}\n",
    f"default login me password {CHOSEN}",
    f"//registry.example.com/:_authToken={RANDOM}",
    f'//registry.example.com/:_password="{CHOSEN}"',
    '{"auths": {"r": {"auth": "' + base64.b64encode(f"team:{CHOSEN}".encode()).decode() + '"}}}',
    f"db.example.com:5432:digits:me:{CHOSEN}",
    f"*:*:*:me:{CHOSEN}",
    f"[client]\nuser=me\npassword={CHOSEN}\n",
    '[minio]\nsecret_key = "minioadmin123"\n',
    f"[pypi]\nusername = me\npassword = {CHOSEN}\n",
    f"https://me:{CHOSEN}@git.example.com",
    f"[default]\naws_secret_access_key = {RANDOM}{RANDOM}\n",
    f"[s3]\ntype = s3\npass = {RANDOM}\n",
    f"users:\n- name: a\n  user:\n    token: {RANDOM}\n",
    f"users:\n- name: a\n  user:\n    password: {CHOSEN}\n",
    f"host: db\npassword: {CHOSEN}\n",
    *(
        f"password: {each}"
        for each in ("hunter2", f'"{CHOSEN}"', f"'{CHOSEN}' # mine", f"&p {CHOSEN}")
    ),
    *(f"password: {each}" for each in ("$ecret-2031", "change-Kirschbaum-2031!")),
    f"password: |\n  {CHOSEN}\n",
    f"{{user: a, password: {CHOSEN}}}",
    f"- name: DB_PASSWORD\n  value: {CHOSEN}\n",
    f"db.password={CHOSEN}",
    f"api_key: {CHOSEN}",
    f"JWT_SECRET={'supersecret' + '42x'}",
    "[db]\npassword = Kirsch),baum2031\n",
    *("password: 20311224", '{"port": 5432, "password": 20311224}', "{password: 20311224}"),
    'import os\nconnect(password="20311224")',
    f"a = 1\\npassword = {CHOSEN}\\nb = 2",
    f'{{"password": "{CHOSEN}"}}',
    f'{{\\"password\\": \\"{CHOSEN}\\"}}',
    f"<password>{CHOSEN}</password>",
    f"<name>fs.s3a.secret.key</name>\n<value>{RANDOM}</value>",
    f"spark.hadoop.fs.s3a.secret.key   {RANDOM}",
    f"requirepass {CHOSEN}",
    base64.b64encode(f"[default]\naws_secret_access_key = {RANDOM}\n".encode()).decode(),
    "config: " + base64.b64encode(f'{{"password": "{CHOSEN}"}}'.encode()).decode(),
)
CODE = (
    f'os.environ["WANDB_API_KEY"] = "{HEX}"',
    f"os.environ['A_TOKEN']='{RANDOM}'",
    f'os.environ.setdefault("API_KEY", "{RANDOM}")',
    f'os.putenv("HF_TOKEN","{RANDOM}")',
    f'wandb.login(key="{HEX}")',
    f'login(token="{RANDOM}")',
    f'HfApi(token="{RANDOM}")',
    f'boto3.client("s3", aws_access_key_id=a, aws_secret_access_key="{RANDOM}/{RANDOM}")',
    f'ENV["API_KEY"]="{RANDOM}"',
    f'api_key: str = "{RANDOM}"',
    f'api_key: Optional[str] = "{CHOSEN}"',
    f'cfg = {{"password": "{CHOSEN}"}}',
    f"cfg = dict(password='{CHOSEN}')",
    f'PASSWORD = os.getenv("DB_PASSWORD", "{CHOSEN}")',
    f'pw = os.environ.get("PW") or "{CHOSEN}"',
    f'requests.get(u, auth=("admin", "{CHOSEN}"))',
    f'HTTPBasicAuth("admin", "{CHOSEN}")',
    f'smtp.login("me@example.com", "{CHOSEN}")',
    f'headers = {{"Authorization": "Bearer {RANDOM}"}}',
    f'headers = {{"Authorization": f"Bearer {CHOSEN}"}}',
    f"headers['Authorization'] = 'Basic {base64.b64encode(b'team:Summer').decode()}'",
    f'const apiKey = "{CHOSEN}";',
    f'apiKey := "{CHOSEN}"',
    f'"password" => "{CHOSEN}"',
    f'token <- "{RANDOM}"',
    f'parser.add_argument("--password", default="{CHOSEN}")',
    f'password: str = Field("{CHOSEN}")',
    *(f'a.{name}("{CHOSEN}")' for name in ("setPassword", "with_password", "password")),
)
COMMANDS = (
    f"curl -u admin:{CHOSEN} https://example.com",
    f'curl -sSu "admin:{CHOSEN}" https://example.com',
    f'curl -H "Authorization: Bearer {RANDOM}" https://example.com',
    f"curl -H 'PRIVATE-TOKEN: {RANDOM}' https://example.com",
    f"mysql -u root -p{CHOSEN} digits",
    f"PGPASSWORD={CHOSEN} psql",
    f"sshpass -p '{CHOSEN}' ssh host",
    f"docker login -u team -p {CHOSEN} registry.example.com",
    f"skopeo copy --src-creds team:{CHOSEN} a b",
    f"aws configure set aws_secret_access_key {RANDOM}",
    f"huggingface-cli login --token {RANDOM}",
    f"wandb login --relogin {HEX}",
    f"export A_TOKEN={RANDOM}",
    f'export DB_PASSWORD="{CHOSEN}"',
    f"export PASSWORD=${{PASSWORD:-{CHOSEN}}}",
    f"set -x API_KEY {RANDOM}",
    f"setenv API_KEY {RANDOM}",
    f'$env:API_KEY = "{RANDOM}"',
    f"FROM a\nENV API_KEY {CHOSEN}\nRUN b",
    f"FROM a\nARG PASSWORD={CHOSEN}",
    f"redis-cli -a {CHOSEN} ping",
    f"echo {CHOSEN} | docker login -u a --password-stdin",
    f'echo "root:{CHOSEN}" | chpasswd',
    f"mongosh -u a -p {CHOSEN}",
    f"openssl enc -pass pass:{CHOSEN}",
    f"kubectl create secret generic a --from-literal=anything={CHOSEN}",
    f"mount -o username=a,password={CHOSEN},vers=3.0 //a /b",
    f"mc alias set m https://minio.example.com team {RANDOM}",
    f"ALTER USER a IDENTIFIED BY '{CHOSEN}'",
    f"https://example.com/?access_token={CHOSEN}",
    f"jdbc:postgresql://db/x?user=a&password={CHOSEN}",
    f"Server=a;Database=b;Pwd={CHOSEN};",
    *(f"htpasswd {words} {CHOSEN}" for words in ("-nb me", "-Bbn me", "-bc /etc/users me")),
    f"mosquitto_passwd -b /etc/users me {CHOSEN}",
    *(f"rabbitmqctl {verb} me {CHOSEN}" for verb in ("add_user", "change_password")),
    f"openssl enc -aes-256-cbc -k {CHOSEN} -in a",
    f"vault login {CHOSEN}",
    f"cqlsh -u me -p {CHOSEN} host",
    f"sqlcmd -S db -U sa -P {CHOSEN}",
    f"mc admin user add m me {CHOSEN}",
    *(f"ray start --redis-password{sign}5241590000000000" for sign in " ="),
    *(f"jupyter lab --{kind}.token=Kirschbaum" for kind in ("NotebookApp", "ServerApp")),
)
LISTS = (
    f'subprocess.run(["curl", "-u", "admin:{CHOSEN}", url])',
    f'args: ["--password", "{CHOSEN}"]',
    f"args: [--password, {CHOSEN}]",
    f"args:\n- --password\n- {CHOSEN}\n",
    f"args:\n  - docker\n  - login\n  - -p\n  - {CHOSEN}\n",
    f'"args": ["--token", "{RANDOM}"]',
)
OTHERS = (
    f'proxy_set_header Authorization "Basic {base64.b64encode(b"team:Summer2026").decode()}";',
    *(f"{name} {CHOSEN}" for name in ("bindpw", "rootpw --plaintext", "requirepass")),
    *(
        f"{name}={CHOSEN}"
        for name in ("dbpass", "mysqlpw", "ssh_pass", "-Djavax.net.ssl.keyStorePassword")
    ),
    *("OPENAI_API_KEY=sk-abcdef" + "1234567890", "API_KEY: abcdef" + "1234567890"),
    *("MINIO_SECRET_KEY=minio" + "admin", "AWS_SECRET_ACCESS_KEY: minio" + "admin"),
    f'git config url."https://{RANDOM}:x-oauth-basic@github.com/".insteadOf',
    f'os.environ.update(HF_TOKEN="{RANDOM}")',
    f"%env HF_TOKEN={RANDOM}",
    f"define('DB_PASSWORD', '{CHOSEN}');",
    f'<user name="a" password="{CHOSEN}"/>',
    f"kubectl config set-credentials a --token={RANDOM}",
    f'wget --header="Authorization: token {RANDOM}" https://example.com',
    f'"env_vars": {{"API_KEY": "{RANDOM}"}}',
    f'private static final String API_KEY = "{CHOSEN}";',
    f'let password: String = "{CHOSEN}";',
    f"password: !!str {CHOSEN}",
    f"- {{name: DB_PASSWORD, value: {CHOSEN}}}",
    f'{{"name": "DB_PASSWORD", "value": "{CHOSEN}"}}',
    f"docker build --build-arg TOKEN={RANDOM} .",
    f'password = r"{CHOSEN}"',
    f'token=b"{RANDOM}"',
)


@pytest.mark.parametrize("text", [*FORMS, *FILES, *CODE, *COMMANDS, *LISTS, *OTHERS])
def test_a_secret_is_found_and_may_not_be_quoted(text: str) -> None:
    assert texts.kind_of_secret(text, "")
    shown = texts.shown_text(text)
    assert SECRET_SHOWN in shown
    assert not [
        each for each in (RANDOM, HEX, CHOSEN, LETTERS * 2, "Kirsch", "MIIE") if each in shown
    ]
    assert texts.shown_text(shown) == shown


READ = (
    *('token = os.environ["HF_TOKEN"]', 'token = os.getenv("HF_TOKEN", "")', "login(token)"),
    *('password = os.getenv("DB_PASSWORD")', 'os.environ["HF_TOKEN"] = token', "wandb.login()"),
    *('os.environ["HF_TOKEN"] = os.environ["HUB_TOKEN"]', 'login(token=os.environ["HF_TOKEN"])'),
    *('wandb.login(key=os.environ["WANDB_API_KEY"])', 'f"Bearer {token}"', "export TOKEN=${TOKEN}"),
    *('headers={"Authorization": f"Bearer {TOKEN}"}', "TOKEN=$(cat /run/secrets/x) train"),
    *("password: ${DB_PASSWORD}", "password: {{ .Values.password }}", "api_key: $(API_KEY)"),
    *('-H "Authorization: Bearer $TOKEN"', 'curl -u "$USER:$PASS" https://example.com'),
    *("curl -u admin https://example.com", 'mysql -u root -p"$PW" db', "mysql -u root -p db"),
    *(
        "docker login -u a --password-stdin r.example.com",
        "docker login -u a -p $PW r",
        "sshpass -e ssh",
    ),
    *(
        "wandb login $WANDB_API_KEY",
        "wandb login --relogin",
        'huggingface-cli login --token "$T" --add',
    ),
    *(
        "echo $PW | docker login --password-stdin",
        "PASSWORD=${PASSWORD:-}",
        "password_file = /run/x",
    ),
    *("PASSWORD=${PASSWORD:-changeme}", "PASSWORD=${PASSWORD:?must be set}", "--set password=$PW"),
    *(
        'ssh-keygen -t rsa -N "" -f /root/.ssh/id',
        "openssl enc -pass env:PW",
        "--token-file=/run/x",
    ),
    *("secretKeyRef:\n  name: hub\n  key: token\n", "secretName: hub-token-7d9f8b6c5"),
    *(
        "postgres://{user}:{password}@{host}/x",
        "postgres://a:${PW}@host/x",
        "https://me@example.com",
    ),
    *("//r.example.com/:_authToken=${NPM_TOKEN}", "machine h login me password $PW"),
    *(
        "password = config.password",
        "connect(user=user, password=password)",
        "token = args.token or None",
    ),
    *("import x\nf(\n    password=db_password\n)", "import os\npassword = user_password\n"),
    *('password = getpass.getpass("Password: ")', "def f(password: str, token: str = None): pass"),
    'parser.add_argument("--token", default=None, help="the token of the hub")',
    *("password: props.password,", "password: getPassword(),", "  password: this.form.password\n"),
)
PLACEHOLDERS = (
    *("password: <your password>", "password: changeme", 'password: ""', "password: null"),
    *("aws_secret_access_key = <key>", "token: your-token-here", "token: TODO", "api_key: xxxx"),
    *('api_key: "***"', "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxx", "hf_yourhuggingfacetokenhere"),
    *("password: %PASSWORD%", "password: REPLACE_ME", "secret: my-secret", "password: string"),
    *('{"auths": {"r": {"auth": "<base64>"}}}', "postgres://user:password@localhost/db"),
)
ONLY_SOUNDS = (
    *("--no-password --lr=0.1", "--token --epochs=3", "--use_auth_token --epochs=3"),
    *(
        "--pass-through --num_key_value_heads=8",
        "max_tokens: 4096",
        "tokenizer: meta-llama/Llama-3.2-1B",
    ),
    *(
        "pad_token: <|endoftext|>",
        "eos_token: EndOfText2026x",
        "num_key_value_heads: 8",
        "passed = 3",
    ),
    *(
        "tokenizer.pad_token = tokenizer.eos_token",
        "sort_keys=True",
        "key=lambda x: x.name",
        "pass",
    ),
    *("existingSecret: hub-7hk4tm2g9d", "passwordSecret: hub-creds", "authorization: enabled"),
    *(
        "checkpoint_hash: 9f86d081884c7d659a2feaa0c55ad015",
        f"GIT_COMMIT={HEX}",
        "fe80:12:ab:cd:ef12",
    ),
    *(
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "12:30:45:00:abcdef",
        "user:x:1000:1000::/home:/bin/sh",
    ),
    *(
        "The password is set by the operator.",
        "Set password: see the wiki",
        "hf_hub_download_with_retry",
    ),
    *(
        "self.token_embedding = nn.Embedding(vocab_size, n_embd)",
        'raise ValueError("password is missing")',
    ),
    *(
        "key_padding_mask = attention_mask",
        "bypass = SummerVision2026",
        "compass: SummerVision2026",
    ),
    *(
        'FOSSA_KEY_VARIABLE = "SONATYPE_PASSWORD"',
        'server-password: "SONATYPE_PASSWORD"',
        "a" * 300,
    ),
    *(
        '"parse-passwd": "^1.0.0"',
        "password: ENC[AES256_GCM,data:aB3d,iv:x,type:str]",
        "echo done | tee x",
    ),
)
NEIGHBOURS = (
    'parser.add_argument("--password", required=True, help="x")',
    'parser.add_argument("--password", "-p", default=None)',
    'parser.add_argument("--password", "--passphrase")',
    '@click.option("--db-password", "db_password", envvar="DB_PASSWORD")',
    'subprocess.run(["curl", "-u", f"{user}:{pw}", u])',
    "args: [--password, $(PASSWORD)]",
    'args: ["--token-file", "/run/x"]',
    "args:\n- --no-password\n- --lr=0.1\n",
    "args: [--token, --epochs=3]",
    "password = $db_password",
    "password: $password",
    "read -s PASSWORD",
    'PASSWORD="$1"',
    "export TOKEN=$(vault kv get -field=token secret/hub)",
    "kubectl get secret hub -o jsonpath='{.data.token}' | base64 -d",
    'if [ "$PASSWORD" = "changeme" ]; then exit 1; fi',
    "RUN --mount=type=secret,id=hf_token,env=HF_TOKEN pip install x",
    "token: hub-token-20261105",
    "keystore.password.file=/x",
    '"password": {"type": "string", "minLength": 8}',
    "properties:\n  password:\n    type: string\n",
    "password: Optional[str] = None",
    "password: SecretStr",
    "token_ids = [1,2]",
    "self.key = nn.Linear(d, d)",
    "key, query, value = x.chunk(3)",
    "api_key=self._api_key",
    'secret = client.read_namespaced_secret("hub", "vision")',
    'print(f"token {token}")',
    'logger.info("password accepted")',
    "authorization: Bearer",
    "Authorization: Bearer <token>",
    '"Authorization": "Bearer " + token',
    'headers = {"Authorization": f"Bearer {self._token(fields, user)}"}',
    '"Authorization": "Bearer {}".format(token)',
    'headers["Authorization"] = "Bearer " + os.environ["T"]',
    "git clone https://github.com/x/y",
    "git clone https://x-access-token:${GH}@github.com/x",
    "s3://team/t/xy",
    "keys: [alpha, beta]",
    "tokens: 4096",
    "bos_token: <s>",
    "- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef: {name: hub, key: token}\n",
    "name: HF_TOKEN\nvalue: $(TOKEN)",
    "login: required",
    "aws s3 cp s3://a/b . --no-sign-request",
    *("vault login -method=oidc", "openssl req -keyout a -k", "secretKey: database-login"),
    *("htpasswd -b /etc/users trainer $PW", "rabbitmqctl add_user me $PW", "cqlsh -u me host"),
    *('a.getPassword("hub-login")', 'a.password("password")', "mc admin user add m me $SECRET"),
    *("--pw 1000000", "spw: 1234567", "compass: 1234567", "password_min_length: 12345678"),
    *("password_changed_at: 1700000000", '{"passwordExpires": 1700000000}', "max_pass: 1000000"),
    *("password: 12345", "password: 1.0.0.0", "token: 20311224", "pass: 3600000s"),
    "--password-stdin < /run/x",
    "mysql -p",
    "jupyter lab --ServerApp.token='' --IdentityProvider.token=$TOKEN",
    "pass: 2",
    "forward_pass: fusedKernel22",
    "max_passes=3",
    "curl -u :  https://x",
    "curl --user-agent Mozilla:5.0xxx u",
    "curl -sSfL https://x:443/a | tar -xz -C /",
    "zip -r out.zip x -P",
    "ssh -p 2222 host",
    "docker run -p 8080:8080 login",
    "docker login && docker run -p 127.0.0.1:8888:8888 x",
    "nc -w 3000 host",
    "ldapsearch -x -W",
    "mongo --port 27017 -p",
    "echo login | cat",
    "spark.sql.shuffle.partitions 200",
    "kubernetes.io/service-account-token",
    "type: kubernetes.io/dockerconfigjson",
    "cosign verify --key k8s://ns/cosign-pub",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 me@x",
    "JWT_SECRET=my-jwt-secret",
    "client_secret=<client-secret>",
    "CLIENT_SECRET=${CLIENT_SECRET}",
    'password_hash = "$2b$12$KIXQ7fYb1aB2cD3eF4gH5uJ6kL7mN8oP9qR0sT1uV2wX3yZ4a5b6c"',
)


@pytest.mark.parametrize("text", [*READ, *PLACEHOLDERS, *ONLY_SOUNDS, *NEIGHBOURS])
def test_what_is_read_elsewhere_filled_in_later_or_only_sounds_like_one_is_none(text: str) -> None:
    assert texts.kind_of_secret(text, "") == ""
    assert texts.shown_text(text) == text


def test_what_is_quoted_of_a_value_is_without_secrets_however_deep_they_lie() -> None:
    given = {
        "env": [{"name": "DB_PASSWORD", "value": CHOSEN}, {"name": "A", "value": "1"}],
        "args": ["--password", CHOSEN, "--lr", "0.1", f"--api-key={RANDOM}"],
        "command": ["mysql", "-uteam", f"-p{CHOSEN}"],
        "pair": ("a", TOKEN),
        "api_key": RANDOM.encode(),
        "pin": {"password": 20311224, "port": 20311224},
        "n": 1,
    }
    assert texts.shown_value(given) == {
        "env": [{"name": "DB_PASSWORD", "value": SECRET_SHOWN}, {"name": "A", "value": "1"}],
        "args": ["--password", SECRET_SHOWN, "--lr", "0.1", f"--api-key={SECRET_SHOWN}"],
        "command": ["mysql", "-uteam", SECRET_SHOWN],
        "pair": ("a", SECRET_SHOWN),
        "api_key": SECRET_SHOWN,
        "pin": {"password": SECRET_SHOWN, "port": 20311224},
        "n": 1,
    }


@pytest.mark.parametrize("part", ["password", "token: ", "curl ", "-----BEGIN ", "eyJ-", "a-b://"])
def test_a_long_text_of_beginnings_is_searched_in_one_pass(part: str) -> None:
    assert texts.kind_of_secret(part * 20_000, "") == ""
