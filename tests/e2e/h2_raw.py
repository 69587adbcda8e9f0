"""gRPC over a bare HTTP/2 connection (python-h2), for what no stub would do."""
import socket
import urllib.parse

import h2.config, h2.connection, h2.events


def call(port, path, body, headers=(), end_stream=True, timeout=30):
    """Returns (grpc-status, grpc-message); (-1, why) when the connection ended without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as raw:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        connection.initiate_connection()
        stream = connection.get_next_available_stream_id()
        connection.send_headers(stream, [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
                                         ("content-type", "application/grpc"), ("te", "trailers"), *headers], end_stream=not body and end_stream)
        for start in range(0, len(body), 16000):
            part = body[start:start + 16000]
            connection.send_data(stream, part, end_stream=end_stream and start + 16000 >= len(body))
        raw.sendall(connection.data_to_send())
        seen = {}
        while True:
            data = raw.recv(65536)
            if not data:
                return -1, "connection closed"
            for event in connection.receive_data(data):
                if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                    seen.update(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)) and event.stream_id == stream:
                    if "grpc-status" in seen:
                        return int(seen["grpc-status"]), urllib.parse.unquote(seen.get("grpc-message", ""))
                    return -1, f"{type(event).__name__} after {seen}"
                if isinstance(event, h2.events.ConnectionTerminated):
                    return -1, f"GOAWAY {event.error_code}"
            raw.sendall(connection.data_to_send())


def stall(port, path, bodies, timeout=60):
    """Opens one connection with a call for each body, reads until every call has its response headers
    and then never again. Returns the socket; windows stay at HTTP/2's 65,535 bytes a connection."""
    raw = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    connection.initiate_connection()
    for body in bodies:
        stream = connection.get_next_available_stream_id()
        connection.send_headers(stream, [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
                                         ("content-type", "application/grpc"), ("te", "trailers")])
        connection.send_data(stream, body, end_stream=True)
    raw.sendall(connection.data_to_send())
    answered = set()
    while len(answered) < len(bodies):
        data = raw.recv(65536)
        assert data, "the server closed the connection"
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                answered.add(event.stream_id)
            assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)), event
        raw.sendall(connection.data_to_send())
    return raw
