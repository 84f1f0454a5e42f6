"""A conversation, a line in and an answer out: stream_chat.py MODEL"""

import sys

import forerun

messages = []
with forerun.Engine(sys.argv[1]) as engine, engine.session() as session:
    for line in sys.stdin:
        messages.append({"role": "user", "content": line.rstrip("\n")})
        answer = session.stream_chat(messages)
        for piece in answer:
            print(piece, end="", flush=True)
        print()
        messages.append({"role": "assistant", "content": answer.result().text})
