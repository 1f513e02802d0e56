"""Reads model.safetensors of a Hugging Face directory."""
import json
import pathlib
import struct

import numpy as np
import torch


def read_tensors(directory):
    data = pathlib.Path(directory, "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(data, "<f4", (end - begin) // 4,
                                8 + length + begin)
        tensors[name] = torch.tensor(numbers).view(entry["shape"])
    return tensors
