"""shoal serve over gRPC, by Python's client: every call, raw and typed tensors, streams, status codes, keys, TLS, drain.

grpc_test.py SHOAL [PART OF A TEST'S NAME]

Messages are made here from the protocol's numbers, not from the server's .proto, so that both would have to be wrong.
"""
import pathlib
import random
import struct
import subprocess
import sys
import threading

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    print("skipped: python3-grpcio is not here")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import TIMEOUT, Running, run_tests, wait_for  # noqa: E402

PIXELS = 28 * 28
TYPES = descriptor_pb2.FieldDescriptorProto
# Message: fields as (name, number, type); "*" repeats, "map:" has text keys.
MESSAGES = {
    "Empty": [],
    "Flag": [("value", 1, "bool")],
    "Named": [("name", 1, "string"), ("version", 2, "string")],
    "ServerMetadata": [("name", 1, "string"), ("version", 2, "string"), ("extensions", 3, "*string")],
    "TensorMetadata": [("name", 1, "string"), ("datatype", 2, "string"), ("shape", 3, "*int64")],
    "ModelMetadata": [("name", 1, "string"), ("versions", 2, "*string"), ("platform", 3, "string"),
                      ("inputs", 4, "*TensorMetadata"), ("outputs", 5, "*TensorMetadata")],
    "Parameter": [("bool_param", 1, "bool"), ("int64_param", 2, "int64"), ("string_param", 3, "string"),
                  ("double_param", 4, "double"), ("uint64_param", 5, "uint64")],
    "Contents": [("bool_contents", 1, "*bool"), ("int_contents", 2, "*int32"), ("int64_contents", 3, "*int64"),
                 ("uint_contents", 4, "*uint32"), ("uint64_contents", 5, "*uint64"), ("fp32_contents", 6, "*float"),
                 ("fp64_contents", 7, "*double"), ("bytes_contents", 8, "*bytes")],
    "ParametersEntry": [("key", 1, "string"), ("value", 2, "Parameter")],
    "Tensor": [("name", 1, "string"), ("datatype", 2, "string"), ("shape", 3, "*int64"),
               ("parameters", 4, "*ParametersEntry"), ("contents", 5, "Contents")],
    "Wanted": [("name", 1, "string"), ("parameters", 2, "*ParametersEntry")],
    "InferRequest": [("model_name", 1, "string"), ("model_version", 2, "string"), ("id", 3, "string"),
                     ("parameters", 4, "*ParametersEntry"), ("inputs", 5, "*Tensor"), ("outputs", 6, "*Wanted"),
                     ("raw", 7, "*bytes"), ("unknown", 999, "string")],
    "InferResponse": [("model_name", 1, "string"), ("model_version", 2, "string"), ("id", 3, "string"),
                      ("parameters", 4, "*ParametersEntry"), ("outputs", 5, "*Tensor"), ("raw", 6, "*bytes")],
    "StreamResponse": [("error_message", 1, "string"), ("infer_response", 2, "InferResponse")],
    "Duration": [("count", 1, "uint64"), ("ns", 2, "uint64")],
    "InferStatistics": [("success", 1, "Duration"), ("fail", 2, "Duration"), ("queue", 3, "Duration"),
                        ("compute_input", 4, "Duration"), ("compute_infer", 5, "Duration"),
                        ("compute_output", 6, "Duration")],
    "BatchStatistics": [("batch_size", 1, "uint64"), ("compute_input", 2, "Duration"), ("compute_infer", 3, "Duration"),
                        ("compute_output", 4, "Duration")],
    "ModelStatistics": [("name", 1, "string"), ("version", 2, "string"), ("last_inference", 3, "uint64"),
                        ("inference_count", 4, "uint64"), ("execution_count", 5, "uint64"),
                        ("inference_stats", 6, "InferStatistics"), ("batch_stats", 7, "*BatchStatistics")],
    "Statistics": [("model_stats", 1, "*ModelStatistics")],
    "IndexRequest": [("repository_name", 1, "string"), ("ready", 2, "bool")],
    "ModelIndex": [("name", 1, "string"), ("version", 2, "string"), ("state", 3, "string"), ("reason", 4, "string")],
    "Index": [("models", 1, "*ModelIndex")],
    "LoadRequest": [("repository_name", 1, "string"), ("model_name", 2, "string")],
}
CALLS = {
    "ServerLive": ("Empty", "Flag"), "ServerReady": ("Empty", "Flag"), "ModelReady": ("Named", "Flag"),
    "ServerMetadata": ("Empty", "ServerMetadata"), "ModelMetadata": ("Named", "ModelMetadata"),
    "ModelInfer": ("InferRequest", "InferResponse"), "ModelStatistics": ("Named", "Statistics"),
    "RepositoryIndex": ("IndexRequest", "Index"), "RepositoryModelLoad": ("LoadRequest", "Empty"),
    "RepositoryModelUnload": ("LoadRequest", "Empty"),
}


def make_messages():
    file = descriptor_pb2.FileDescriptorProto(name="oip", package="oip", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            one = message.field.add(name=field, number=number, label=TYPES.LABEL_OPTIONAL)
            if kind.startswith("*"):
                one.label, kind = TYPES.LABEL_REPEATED, kind[1:]
            if kind in MESSAGES:
                one.type, one.type_name = TYPES.TYPE_MESSAGE, f".oip.{kind}"
            else:
                one.type = getattr(TYPES, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"oip.{name}")) for name in MESSAGES}


MAKE = make_messages()


class Server(Running):
    def __init__(self, *args):
        super().__init__("serve", "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--tune", "off", *args)
        line = self.line()
        assert line.startswith("ready http") and " grpc://127.0.0.1:" in line, line + self.process.stderr.read()
        self.address = line.split(" grpc://")[1]

    def channel(self, credentials=None):
        if credentials is None:
            return grpc.insecure_channel(self.address)
        return grpc.secure_channel(self.address, credentials, [("grpc.ssl_target_name_override", "localhost")])


def call(channel, method, key=None, timeout=TIMEOUT, **fields):
    request, response = CALLS[method]
    ask = channel.unary_unary(f"/inference.GRPCInferenceService/{method}", request_serializer=MAKE[request].SerializeToString,
                              response_deserializer=MAKE[response].FromString)
    return ask(MAKE[request](**fields), timeout=timeout, metadata=[("authorization", f"Bearer {key}")] if key else None)


def refused(code, *args, **fields):
    try:
        call(*args, **fields)
    except grpc.RpcError as error:
        assert error.code() == code, (error.code(), error.details())
        return error
    raise AssertionError(f"{args[1:]} was answered")


def tensor(count=1, **fields):
    return MAKE["Tensor"](**{"name": "image", "datatype": "FP32", "shape": [count, 1, 28, 28], **fields})


def raw_request(value=0.5, count=1, **fields):
    raw = struct.pack(f"<{count * PIXELS}f", *[value] * (count * PIXELS))
    return {"model_name": "digits", "inputs": [tensor(count)], "raw": [raw], **fields}


def scores_of(response):
    assert response.model_name == "digits" and response.model_version == "1"
    assert response.outputs[0].name == "scores" and response.outputs[0].datatype == "FP32"
    count = response.outputs[0].shape[0]
    assert list(response.outputs[0].shape) == [count, 10]
    return struct.unpack(f"<{count * 10}f", response.raw[0])


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 * (1 + abs(y)) for x, y in zip(a, b))


def stream(channel, requests):
    ask = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer",
                                request_serializer=MAKE["InferRequest"].SerializeToString,
                                response_deserializer=MAKE["StreamResponse"].FromString)
    return list(ask(iter([MAKE["InferRequest"](**request) for request in requests]), timeout=TIMEOUT))


def test_documents(_):
    with Server() as server, server.channel() as channel:
        assert call(channel, "ServerLive").value and call(channel, "ServerReady").value
        about = call(channel, "ServerMetadata")
        assert about.name == "shoal" and about.version and "statistics" in about.extensions
        for version in ("", "1"):
            model = call(channel, "ModelMetadata", name="digits", version=version)
            assert model.versions == ["1"] and model.platform == "onnx_onnxv1"
            assert [(t.name, t.datatype, list(t.shape)) for t in model.inputs] == [("image", "FP32", [-1, 1, 28, 28])]
            assert [(t.name, t.datatype, list(t.shape)) for t in model.outputs] == [("scores", "FP32", [-1, 10])]
        assert call(channel, "ModelReady", name="digits").value
        # The standard health service.
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=TIMEOUT) == b"\x08\x01"  # SERVING


def test_health_can_be_watched(_):
    serving, not_serving, unknown = b"\x08\x01", b"\x08\x02", b"\x08\x03"
    nothing = b"\x0a\x01x"  # a service that is not there
    server = Server()
    with server.channel() as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        said = watch(b"", timeout=TIMEOUT)
        assert next(said) == serving
        left = watch(nothing, timeout=TIMEOUT)
        assert next(left) == unknown
        left.cancel()
        try:
            channel.unary_unary("/grpc.health.v1.Health/Check")(nothing, timeout=TIMEOUT)
            raise AssertionError("nothing is healthy")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, error
        server.process.terminate()
        assert next(said) == not_serving
        try:
            next(said)
            raise AssertionError("the server ends, and says more")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        assert server.process.wait(timeout=TIMEOUT) == 0
    with server:
        pass


def test_repository(_):
    with Server() as server, server.channel() as channel:
        index = call(channel, "RepositoryIndex").models
        assert [(m.name, m.version, m.state) for m in index] == [("digits", "1", "READY")]
        call(channel, "RepositoryModelUnload", model_name="digits")
        assert not call(channel, "ModelReady", name="digits").value
        assert call(channel, "RepositoryIndex").models[0].state == "UNAVAILABLE"
        assert not call(channel, "RepositoryIndex", ready=True).models
        refused(grpc.StatusCode.UNAVAILABLE, channel, "ModelInfer", **raw_request())
        call(channel, "RepositoryModelLoad", model_name="digits")
        scores_of(call(channel, "ModelInfer", **raw_request()))
        for name in ("RepositoryModelLoad", "RepositoryModelUnload"):
            refused(grpc.StatusCode.NOT_FOUND, channel, name, model_name="none")


def test_raw_typed_and_streamed_tensors_agree(_):
    with Server() as server, server.channel() as channel:
        first = call(channel, "ModelInfer", **raw_request(id="42", unknown="ignored", count=2))
        assert first.id == "42"
        scores = scores_of(first)
        typed = tensor(contents=MAKE["Contents"](fp32_contents=[0.5] * PIXELS))
        wanted = [MAKE["Wanted"](name="scores")]
        one = scores_of(call(channel, "ModelInfer", model_name="digits", model_version="1", inputs=[typed], outputs=wanted))
        assert near(one * 2, scores)
        requests = [raw_request(id=str(i), value=i / 8) for i in range(8)] + [raw_request(model_name="none", id="x")] * 2
        answers = stream(channel, requests + [raw_request(id="last")])
        assert [a.infer_response.id for a in answers] == [*"01234567", "x", "x", "last"]
        assert near(scores_of(answers[4].infer_response), one) and near(scores_of(answers[-1].infer_response), one)
        assert [bool(a.error_message) for a in answers] == [False] * 8 + [True, True, False]
        stats = call(channel, "ModelStatistics", name="digits").model_stats[0]
        assert stats.inference_stats.success.count == 11 and stats.inference_stats.success.ns > 0, stats
        assert stats.execution_count == 11 and stats.batch_stats and stats.last_inference > 1_600_000_000_000
        assert call(channel, "ModelStatistics").model_stats[0].name == "digits"


def test_status_codes(_):
    invalid, missing = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
    contents = MAKE["Contents"](fp32_contents=[0.5] * PIXELS)
    with Server("--max-body", "1") as server, server.channel() as channel:
        for code, fields in [
                (missing, {"model_name": "none"}), (missing, {"model_version": "2"}), (invalid, {"inputs": []}),
                (invalid, {"raw": []}), (invalid, {"raw": [b"", b""]}), (invalid, {"raw": [b"x" * 3135]}),
                (invalid, {"inputs": [tensor(contents=contents)]}), (invalid, {"inputs": [tensor(name="x")]}),
                (invalid, {"inputs": [tensor(shape=[1, 1, 28, -28])]}), (invalid, {"inputs": [tensor(shape=[2**62] * 4)]}),
                (invalid, {"inputs": [tensor(contents=MAKE["Contents"](fp32_contents=[1]))], "raw": []}),
                (invalid, {"inputs": [tensor(contents=MAKE["Contents"](fp64_contents=[1] * PIXELS))], "raw": []}),
                (invalid, {"inputs": [tensor(datatype="INT8", contents=MAKE["Contents"](int_contents=[300] * PIXELS))],
                           "raw": []}),
                (invalid, {"outputs": [MAKE["Wanted"](name="x")]}), (invalid, {"parameters": [parameter("priority", 9)]}),
                (invalid, {"parameters": [MAKE["ParametersEntry"](key="timeout", value=MAKE["Parameter"](string_param="1"))]}),
                (grpc.StatusCode.UNIMPLEMENTED, {"inputs": [tensor(datatype="BYTES")]}),
                (grpc.StatusCode.DEADLINE_EXCEEDED, {"parameters": [parameter("timeout", 1)]}),
                (grpc.StatusCode.RESOURCE_EXHAUSTED, {"raw": [b"x" * (2 << 20)]})]:
            error = refused(code, channel, "ModelInfer", **{**raw_request(), **fields})
            assert error.details(), fields
        refused(missing, channel, "ModelReady", name="none")
        refused(missing, channel, "ModelMetadata", name="none")
        refused(missing, channel, "ModelStatistics", name="none")
        scores_of(call(channel, "ModelInfer", **raw_request()))  # and it goes on


def parameter(key, number):
    return MAKE["ParametersEntry"](key=key, value=MAKE["Parameter"](int64_param=number))


def test_full_queues_and_clients_that_leave(_):
    # Of two requests one waits for others to share its batch and the other is refused, whichever comes first.
    with Server("--max-waiting", "1", "--max-delay", "10000000", "--max-batch", "8") as server, server.channel() as channel:
        ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                  request_serializer=MAKE["InferRequest"].SerializeToString)
        pair = [ask.future(MAKE["InferRequest"](**raw_request()), timeout=TIMEOUT) for _ in range(2)]
        wait_for(lambda: any(one.done() for one in pair))
        refusal, waiting = sorted(pair, key=lambda one: not one.done())
        assert refusal.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, refusal.code()
        assert any(key == "grpc-retry-pushback-ms" for key, _ in refusal.trailing_metadata())
        waiting.cancel()

        def is_answered():  # soon its place is free again, and eight items fill a batch
            eight = ask.future(MAKE["InferRequest"](**raw_request(count=8)), timeout=TIMEOUT)
            return eight.code() == grpc.StatusCode.OK

        wait_for(is_answered)


def test_keys_and_tls(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                    folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True, timeout=TIMEOUT)
    keys = folder / "keys"
    keys.write_text("alice 0123456789abcdef\nbob fedcba9876543210 0.001\n")
    for secret in (keys, folder / "key.pem"):
        secret.chmod(0o600)
    with Server("--keys", keys, "--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem") as server:
        credentials = grpc.ssl_channel_credentials((folder / "cert.pem").read_bytes())
        with server.channel(credentials) as channel:
            assert call(channel, "ServerLive").value
            for key in (None, "0123456789abcdeg"):
                for name, fields in [("ModelInfer", raw_request()), ("ServerMetadata", {}), ("RepositoryIndex", {}),
                                     ("RepositoryModelLoad", {"model_name": "digits"}), ("ModelStatistics", {}),
                                     ("RepositoryModelUnload", {"model_name": "digits"})]:
                    refused(grpc.StatusCode.UNAUTHENTICATED, channel, name, key, **fields)
            try:
                stream(channel, [raw_request()])
                raise AssertionError("a stream without a key")
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAUTHENTICATED
            for _ in range(3):
                scores_of(call(channel, "ModelInfer", "0123456789abcdef", **raw_request()))
            call(channel, "ModelInfer", "fedcba9876543210", **raw_request())
            refused(grpc.StatusCode.RESOURCE_EXHAUSTED, channel, "ModelInfer", "fedcba9876543210", **raw_request())
        with server.channel() as plain:
            refused(grpc.StatusCode.UNAVAILABLE, plain, "ServerLive", timeout=10)


def test_damaged_messages(_):
    """Whatever a few changed bytes make of a message, the server answers, and goes on."""
    draw = random.Random(1)
    whole = MAKE["InferRequest"](**raw_request(id="x", outputs=[MAKE["Wanted"](name="scores")],
                                               parameters=[parameter("priority", 2)])).SerializeToString()
    with Server() as server, server.channel() as channel:
        ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        for _ in range(300):
            text = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                text[draw.randrange(80)] = draw.randrange(256)
            if draw.random() < 0.3:
                text = text[:draw.randrange(len(text))]
            try:
                ask(bytes(text), timeout=TIMEOUT)
            except grpc.RpcError as error:
                assert error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND,
                                        grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INTERNAL,
                                        grpc.StatusCode.DEADLINE_EXCEEDED), error
                # gRPC's own word for a message that cannot be parsed.
                assert error.code() != grpc.StatusCode.INTERNAL or "parse" in error.details().lower(), error
        scores_of(call(channel, "ModelInfer", **raw_request()))


def test_drain_answers_what_was_asked(_):
    server = Server()
    with server.channel() as channel:
        call(channel, "ModelInfer", **raw_request())
        failed, over = [], threading.Event()

        def client():
            while not over.is_set():
                try:
                    scores_of(call(channel, "ModelInfer", **raw_request()))
                except grpc.RpcError as error:  # the server is gone: nothing that it had begun
                    over.set()
                    if error.code() != grpc.StatusCode.UNAVAILABLE:
                        failed.append(error)

        threads = [threading.Thread(target=client) for _ in range(3)]
        for thread in threads:
            thread.start()
        server.process.terminate()
        assert server.process.wait(timeout=TIMEOUT) == 0
        for thread in threads:
            thread.join()
        assert not failed, failed
    with server:
        pass


run_tests(globals())
