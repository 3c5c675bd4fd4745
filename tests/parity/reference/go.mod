module trainer-infra.local/parity

go 1.26

require github.com/kubeflow/trainer/v2 v2.3.0
