"""The suites by name. Options that a suite does not know are for another one."""
import pathlib


def make(name, folder, **options):
    import groupby, join, micro, tpch
    return {"groupby": groupby, "join": join, "micro": micro, "tpch": tpch}[name].suite(pathlib.Path(folder), **options)


NAMES = ["groupby", "join", "micro", "tpch"]
