"""The floor that embedding is measured against: a script of nothing but onnxruntime, tokenizers and the model."""

EMBED = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import sys
import numpy as np, onnxruntime, tokenizers
graph, vocabulary, given = sys.argv[1:]
tokenizer = tokenizers.Tokenizer.from_file(vocabulary)
tokenizer.no_padding()
tokenizer.enable_truncation(256)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
model = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
def embed(text):
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    vector = model.run(None, fed)[0][0].mean(axis=0)
    return vector / np.linalg.norm(vector)
"""
"""Arguments: the graph, the tokenizer, and one more, in ``given``. Defines ``embed(text)``."""
