"""Goes on with a text: complete.py MODEL.gguf "Once upon a time" """

import sys

from forerun import Model

model = Model(sys.argv[1])
for piece in model.generate(model.tokenize(sys.argv[2]), n_predict=64):
    print(piece, end="", flush=True)
print()
model.close()
