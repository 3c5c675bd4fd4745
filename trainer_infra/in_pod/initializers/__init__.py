"""The dataset and the model initializer: they download onto a volume before the training begins.

    python -m trainer_infra.in_pod.initializers dataset
    python -m trainer_infra.in_pod.initializers model

Run by the pods of initializers, and by hand. Needs the packages of the extra `initializers`. `settings` reads the
environment, `sources` opens the source of a URI, `lock` lets one process at a time work on a folder, `folder`
knows what is there already, and `download` fetches the rest.
"""
