"""What a disk has after a power cut: see unsynced.cc, which writes down what was synced."""
import hashlib
import os
import pathlib
import random
import shutil
import stat

# Names and content as they were last synced; or all names, with what was not synced empty or torn; or some of each.
WAYS = "synced", "names", "torn", "mixed"


def fingerprint(at):
    """Of all that is in a folder."""
    sha = hashlib.sha256()
    for path in sorted(at.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        sha.update(f"{path.relative_to(at)} {path.lstat().st_mode} {len(content)} ".encode() + content)
    return sha.hexdigest()


class Disk:
    """What is surely on the disk of the machine in folder `root`."""

    def __init__(self, folder, root, lost=""):
        self.folder, self.root, self.lost = folder, root, lost
        for kind in "files", "folders", "held":
            (folder / kind).mkdir(parents=True)
        for path, _, names in os.walk(root):  # what is there now has been there for long
            self._note_folder(path)
            for name in names:
                self._note_file(os.path.join(path, name))

    def env(self, shim, cut, steps):
        return {"LD_PRELOAD": str(shim), "SHOAL_POWER_ROOT": str(self.root), "SHOAL_POWER_DISK": str(self.folder),
                "SHOAL_POWER_CUT": str(cut), "SHOAL_POWER_STEPS": str(steps), "SHOAL_POWER_LOST": self.lost}

    def rebuild(self, live, at, way, seed):
        """Makes folder `at` as it may be found after a cut; `live` is where the machine's folder is now."""
        _Rebuilt(self, live, way, random.Random(seed)).folder(os.stat(live).st_ino, at)

    def _note_folder(self, path):
        lines = [f"{entry.inode()} {'d' if entry.is_dir(follow_symlinks=False) else 'f'} {entry.name}\n"
                 for entry in os.scandir(path)]
        (self.folder / "folders" / str(os.stat(path).st_ino)).write_text("".join(lines))

    def _note_file(self, path):
        shutil.copy(path, self.folder / "files" / str(os.stat(path).st_ino))

    def synced_names(self, inode):
        path = self.folder / "folders" / str(inode)
        lines = path.read_text().splitlines() if path.exists() else []  # of a new folder, nothing
        return {name: (int(number), kind) for number, kind, name in (line.split(" ", 2) for line in lines)}

    def synced_file(self, inode):
        path = self.folder / "files" / str(inode)
        return path if path.exists() else None


class _Rebuilt:
    def __init__(self, disk, live, way, rng):
        self.disk, self.way, self.rng = disk, way, rng
        self.live = {}  # paths by inode
        for path, folders, files in os.walk(live):
            self.live[os.stat(path).st_ino] = pathlib.Path(path)
            for name in files:
                self.live[os.stat(os.path.join(path, name)).st_ino] = pathlib.Path(path, name)

    def names(self, inode):
        synced = self.disk.synced_names(inode)
        if self.way == "synced" or inode not in self.live:
            return synced
        now = {entry.name: (entry.inode(), "d" if entry.is_dir(follow_symlinks=False) else "f")
               for entry in os.scandir(self.live[inode])}
        if self.way != "mixed":
            return now
        chosen = {name: self.rng.choice([synced.get(name), now.get(name)]) for name in sorted({*synced, *now})}
        return {name: entry for name, entry in chosen.items() if entry}

    def content(self, inode):
        """And the permissions."""
        synced, live = self.disk.synced_file(inode), self.live.get(inode)
        kept = synced.read_bytes() if synced else b""
        mode = stat.S_IMODE(os.stat(live or synced).st_mode) if live or synced else 0o600
        now = live.read_bytes() if live else kept
        if synced and now == kept:
            return kept, mode
        torn = now[:len(now) // 2]
        if self.way == "mixed":
            return self.rng.choice([kept, torn, now, bytes(len(now))]), mode
        return torn if self.way == "torn" else kept, mode

    def folder(self, inode, at):
        at.mkdir(mode=0o700)
        for name, (child, kind) in self.names(inode).items():
            if kind == "d":
                self.folder(child, at / name)
                continue
            content, mode = self.content(child)
            (at / name).write_bytes(content)
            (at / name).chmod(mode)
