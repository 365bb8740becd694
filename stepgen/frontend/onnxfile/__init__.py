"""Import of ONNX files of linears, norms and functions."""
