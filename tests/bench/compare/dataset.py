"""Generated tables, kept as Arrow IPC files between runs."""
import pyarrow as pa


def cached(folder, name, make):
    path = folder / f"{name}.arrow"
    if not path.exists():
        table = make()
        partial = path.with_suffix(".partial")
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=1 << 20)
        partial.rename(path)
    return path


def read(path):
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
