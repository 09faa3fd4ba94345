"""The control protocol, both ends: requests, replies, errors, server and client."""
