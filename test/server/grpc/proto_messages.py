"""Messages of .proto files as classes, without code that is generated."""

import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, message_factory


def messages_of(folder: str):
    """The classes of all messages, by full name; protoc writes the descriptors."""
    files = [str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*.proto")]
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"--proto_path={folder}", f"--descriptor_set_out={out.name}",
                        "--include_imports", *files], check=True)
        described = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    return message_factory.GetMessages(described.file)
