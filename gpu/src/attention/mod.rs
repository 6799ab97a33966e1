//! The kernels and their CPU twins.
