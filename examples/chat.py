"""A conversation, a line in and an answer out: chat.py MODEL.gguf"""

import sys

from forerun import Model

model = Model(sys.argv[1])
messages = []
for line in sys.stdin:
    messages.append({"role": "user", "content": line.rstrip("\n")})
    answer = ""
    for piece in model.generate(model.chat(messages), n_predict=256):
        answer += piece
        print(piece, end="", flush=True)
    print()
    messages.append({"role": "assistant", "content": answer})
model.close()
