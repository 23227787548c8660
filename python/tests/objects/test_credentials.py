"""Credentials that a function gives: `pgsluice.objects`."""

import os
from datetime import UTC, datetime, timedelta
from unittest import mock

import pgsluice
from formats.place import server

from .place import OnStores
from .servers import KEY, SECRET, Seaweed, started

ROWS = b"1\n2\n3\n"
KEYS = {"access_key_id": KEY, "secret_access_key": SECRET}


class Credentials(OnStores):
    """Tests whose environment has credentials that the server does not accept."""

    def setUp(self):
        super().setUp()
        self.make()
        self.store = started(Seaweed)
        self.store.put("credentials/a.csv", ROWS)
        self.store.put("credentials/b.csv", b"4\n")

    def load_with(self, provider, name="credentials/*.csv"):
        data = pgsluice.objects(self.store.address(name), credential_provider=provider)
        wrong = {"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other"}
        with mock.patch.dict(os.environ, self.store.variables() | wrong, clear=True):
            return pgsluice.load(data, "loaded", server(), no_ledger=True)

    def test_a_function_gives_them(self):
        calls = []

        def provider():
            calls.append(datetime.now(UTC))
            return KEYS | {"token": None, "expires_at": datetime.now(UTC) + timedelta(hours=1)}

        self.assertEqual(self.load_with(provider).rows_loaded, 4)
        self.assertEqual(self.ids(), [1, 2, 3, 4])
        # Two clients ask: one for lists, and one for ranges.
        self.assertLessEqual(len(calls), 2)

    def test_an_old_one_is_replaced(self):
        calls = []

        def provider():
            calls.append(1)
            return KEYS | {"expires_at": datetime.now(UTC) + timedelta(minutes=1)}

        self.assertEqual(self.load_with(provider).rows_loaded, 4)
        self.assertGreater(len(calls), 2)

    def test_its_exception_is_the_cause(self):
        def provider():
            raise LookupError("no vault")

        with self.assertRaises(pgsluice.Error) as caught:
            self.load_with(provider)
        self.assertIsInstance(caught.exception.__cause__, LookupError)
        self.assertIn("no vault", str(caught.exception))
        self.assertEqual(self.ids(), [])

    def test_invalid_credentials(self):
        for given, message in (
            ({"access_key_id": KEY}, "the credential has no secret_access_key"),
            (None, "must return a mapping"),
            (KEYS | {"expires_at": datetime(2026, 1, 1)}, "an aware datetime"),
            (KEYS | {"secret_access_key": "other-secret"}, "does not accept the credentials"),
        ):
            with self.subTest(message), self.assertRaises(pgsluice.Error) as caught:
                self.load_with(lambda given=given: given)
            self.assertIn(message, str(caught.exception))
            self.assertNotIn("other-secret", str(caught.exception))
        for addresses in ("a.csv", [3]):
            with self.assertRaises(TypeError):
                pgsluice.objects(addresses, credential_provider=lambda: KEYS)
        with self.assertRaises(TypeError):
            pgsluice.objects("s3://bucket/key", credential_provider=KEYS)  # type: ignore[arg-type]
