"""SHA-256 of files, to tell whether they are those that were written."""

import hashlib


def folder_hashes(folder):
    """{path inside the folder: SHA-256} of all its files."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return file_hashes(folder, [p.relative_to(folder).as_posix() for p in files])


def file_hashes(folder, names):
    """{name: SHA-256} of the files that are there."""
    paths = {name: folder / name for name in names}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in paths.items()
        if path.is_file()
    }
