from cdc_lakehouse.package import RELEASE as version  # noqa: F401 - the name that dbt looks for
