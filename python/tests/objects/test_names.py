"""Names of objects, prefixes and patterns, and names that nothing has."""

import unittest
from urllib.parse import quote

from .place import OnStores
from .servers import (
    BUCKET,
    READER,
    READER_SECRET,
    Azure,
    Google,
    Http,
    Moto,
    Seaweed,
    Store,
    started,
)

# Names that are hard to request, to sign or to list.
HARD = (
    "with space.csv",
    "two  spaces.csv",
    "100%.csv",
    "a%20b.csv",
    "plus+plus.csv",
    "a&b=c.csv",
    "größer.csv",
    "日本.csv",
    "a[1].csv",
    "a1.csv",
    "a*.csv",
    "a?.csv",
    "#1.csv",
    "semi;colon.csv",
    "quote'.csv",
    "tilde~.csv",
    "at@.csv",
    "colon:.csv",
    "(1).csv",
    "_x.csv",
    ".x.csv",
)


class Names(OnStores):
    """Tests that load objects with one row each; the row is the number of the object."""

    def setUp(self):
        super().setUp()
        self.make()

    def put(self, store: Store, folder: str, *names: str) -> None:
        for number, name in enumerate(names):
            store.put(f"{folder}/{name}", b"%d\n" % number)

    def load_ids(self, store: Store, *addresses: str) -> tuple[list[int], str]:
        """Load objects; return the rows of the table, which is emptied, and what was printed."""
        done = self.load_from(store, *addresses, options=["--format", "csv"])
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.ids()
        self.empty("loaded")
        return found, done.stderr

    def refuse_address(self, store: Store, address: str, **given) -> str:
        """Try to load from an address; return the error. Nothing is loaded."""
        done = self.load_from(store, address, options=["--format", "csv"], **given)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.ids(), [])
        return done.stderr

    def assert_every_name(self, store: Store) -> None:
        self.put(store, "hard", *HARD)
        for number, name in enumerate(HARD):
            with self.subTest(name):
                found, printed = self.load_ids(store, store.address(f"hard/{name}"))
                self.assertEqual(found, [number])
                self.assertNotIn("not read", printed)
        # Together, one as a match of a pattern as well.
        addresses = [store.address(f"hard/{name}") for name in HARD]
        self.assertEqual(self.load_ids(store, *addresses)[0], list(range(len(HARD))))


class NamesOfObjects(Names):
    def test_objects_of_every_name_are_read(self):
        self.assert_every_name(started(Seaweed))

    def test_objects_of_every_name_are_read_from_moto(self):
        self.assert_every_name(started(Moto))

    def test_objects_of_every_name_are_read_from_google(self):
        self.assert_every_name(started(Google))

    def test_objects_of_every_name_are_read_from_azure(self):
        self.assert_every_name(started(Azure))

    def test_files_of_every_name_are_read_from_http(self):
        self.assert_every_name(started(Http))

    def test_addresses_need_no_encoding(self):
        # A "%20" of an object's name is not a space.
        store = started(Seaweed)
        store.put("encoded/a b.csv", b"1\n")
        error = self.refuse_address(store, store.address("encoded/" + quote("a b.csv")))
        self.assertIn("does not exist", error)


class Prefixes(Names):
    def test_a_prefix_stands_for_the_objects_below_it(self):
        for kind in (Seaweed, Moto, Google, Azure):
            with self.subTest(kind.__name__):
                store = started(kind)
                names = ("a.csv", "b c.csv", "_SUCCESS", ".hidden.csv", "sub/d.csv", "[1].csv")
                self.put(store, "below", *names)
                # Its name only begins like the prefix.
                store.put("below.csv", b"99\n")
                for address in ("below", "below/"):
                    found, printed = self.load_ids(store, store.address(address))
                    self.assertEqual(found, [0, 1, 5])
                    self.assertIn("names begin with _ or .: .hidden.csv, _SUCCESS", printed)
                    self.assertIn("that are not read: sub", printed)

    def test_a_marker_of_a_folder_is_no_object(self):
        store = started(Moto)
        store.put("marked/", b"")
        store.put("marked/a.csv", b"7\n")
        store.put("marked/sub/", b"")
        for address in ("marked", "marked/", "marked/*", "marked/**"):
            with self.subTest(address):
                self.assertEqual(self.load_ids(store, store.address(address))[0], [7])

    def test_a_prefix_of_more_than_one_page_is_read(self):
        store = started(Moto)
        self.put(store, "pages", *(f"{n:04}.csv" for n in range(1005)))
        # These come after the first thousand.
        found, _ = self.load_ids(store, store.address("pages/100*.csv"))
        self.assertEqual(found, list(range(1000, 1005)))

    def test_patterns_match_as_those_of_files(self):
        names = ("a.csv", "b.csv", "b.txt", "d/c.csv", "d/e/f.csv", "_g.csv", "h[1].csv", "ü.csv")
        for name in names:
            (self.folder / "glob" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "glob" / name).write_text(f"{names.index(name)}\n")
        patterns = (
            "glob/*.csv",
            "glob/?.csv",
            "glob/[ab].*",
            "glob/[!a].csv",
            "glob/**/*.csv",
            "glob/d/**/*.csv",
            "glob/*/c.csv",
            "glo*/b.txt",
            "glob/h[[]1].csv",
            "glob/h[1].csv",
        )
        for kind in (Seaweed, Google, Azure):
            store = started(kind)
            self.put(store, "glob", *names)
            for pattern in patterns:
                with self.subTest(f"{kind.__name__}: {pattern}"):
                    expected = self.load_ids(store, pattern)[0]
                    self.assertNotEqual(expected, [])
                    found = self.load_ids(store, store.address(pattern))[0]
                    self.assertEqual(found, expected)

    def test_a_whole_bucket_is_read(self):
        store = started(Moto)
        store.own.create_bucket(Bucket="whole")
        store.own.put_object(Bucket="whole", Key="a.csv", Body=b"1\n")
        store.own.put_object(Bucket="whole", Key="b/c.csv", Body=b"2\n")
        for address, expected in {
            "s3://whole": [1],
            "s3://whole/": [1],
            "s3://whole/**/*.csv": [1, 2],
            "s3a://whole/b": [2],
        }.items():
            with self.subTest(address):
                self.assertEqual(self.load_ids(store, address)[0], expected)


class Absent(Names):
    def test_names_of_nothing_are_refused(self):
        for kind in (Seaweed, Moto, Google, Azure):
            store = started(kind)
            for name in ("absent.csv", "absent", "absent/", "absent/a b.csv"):
                with self.subTest(f"{kind.__name__}: {name}"):
                    error = self.refuse_address(store, store.address(name))
                    self.assertIn("the object does not exist", error)
                    self.assertIn(store.address(name).rstrip("/"), error)
            for pattern in ("absent/*.csv", "absent*", "**/absent.csv"):
                with self.subTest(f"{kind.__name__}: {pattern}"):
                    error = self.refuse_address(store, store.address(pattern))
                    self.assertIn(f'no object matches "{store.address(pattern)}"', error)
        store = started(Http)
        self.assertIn("does not exist", self.refuse_address(store, store.address("absent.csv")))

    def test_buckets_that_do_not_exist_are_refused(self):
        # The server for Google answers 500.
        for kind in (Seaweed, Moto, Azure):
            store = started(kind)
            for name in ("a.csv", "days", "days/", "*.csv", ""):
                with self.subTest(f"{kind.__name__}: {name}"):
                    address = store.address(name).replace(BUCKET, "absent-bucket", 1)
                    error = self.refuse_address(store, address)
                    self.assertRegex(error, "does not exist|no object matches")

    def test_a_prefix_without_data_is_refused(self):
        store = started(Seaweed)
        self.put(store, "nodata", "_SUCCESS", "sub/a.csv")
        error = self.refuse_address(store, store.address("nodata"))
        self.assertIn("has no files", error)

    def test_only_objects_are_read_without_the_right_to_list(self):
        store = started(Seaweed)
        self.put(store, "rights", "a.csv", "b[1].csv")
        reader = {"environment": store.credentials(READER, READER_SECRET)}
        for name, number in {"a.csv": 0, "b[1].csv": 1}.items():
            done = self.load_from(store, store.address(f"rights/{name}"), **reader)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.ids(), [number])
            self.empty("loaded")
        for name in ("rights/", "rights/*.csv"):
            with self.subTest(name):
                error = self.refuse_address(store, store.address(name), **reader)
                self.assertIn("the server refuses access", error)
                self.assertIn("s3:ListBucket", error)
        # Nobody can tell a prefix from an object that is absent.
        for name in ("rights", "absent.csv"):
            with self.subTest(name):
                error = self.refuse_address(store, store.address(name), **reader)
                self.assertIn("does not exist", error)

    def test_wrong_credentials_are_reported_as_wrong(self):
        store = started(Seaweed)
        self.put(store, "rights", "a.csv")
        for key, secret in (("loader", "wrong"), ("nobody", "wrong")):
            with self.subTest(key):
                given = {"environment": store.credentials(key, secret)}
                error = self.refuse_address(store, store.address("rights/a.csv"), **given)
                self.assertIn("does not accept the credentials", error)


class Twice(Names):
    def test_an_object_that_is_given_twice_is_read_once(self):
        store = started(Seaweed)
        self.put(store, "twice", "a.csv", "b.csv")
        a, b = store.address("twice/a.csv"), store.address("twice/b.csv")
        for addresses, expected in (
            ((a, a), [0]),
            ((a, store.address("twice/*.csv")), [0, 1]),
            ((store.address("twice"), b), [0, 1]),
            ((store.address("twice"), store.address("twice/")), [0, 1]),
        ):
            with self.subTest(addresses):
                found, printed = self.load_ids(store, *addresses)
                self.assertEqual(found, expected)
                self.assertRegex(printed, "(?i)warning: .*(twice|once)")

    def test_equal_objects_of_other_names_are_all_read(self):
        store = started(Seaweed)
        for name in ("a.csv", "b.csv"):
            store.put(f"equal/{name}", b"5\n")
        found, printed = self.load_ids(store, store.address("equal"))
        self.assertEqual(found, [5, 5])
        self.assertNotIn("warning", printed)


del Names

if __name__ == "__main__":
    unittest.main()
