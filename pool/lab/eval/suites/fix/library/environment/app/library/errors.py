"""What can go wrong at the desk."""


class LibraryError(Exception):
    """Something that a person at the desk can put right; the message says what."""


class UnknownError(LibraryError):
    """There is no such book, member or loan."""
