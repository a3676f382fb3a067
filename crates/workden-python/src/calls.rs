//! Defines every call twice, from one body: `read` blocks, `read_async` is awaited.

/// Defines methods of a Python class. Each body is an async block over `$parts`, a clone of `self`'s own handle, and
/// returns a `Result` of a type that converts into a Python object.
macro_rules! calls {
    (
        impl $class:ty = $open:ident;
        $(
            $(#[$doc:meta])*
            $(@$signature:tt)?
            fn $waits:ident | $awaited:ident ($parts:ident $(, $argument:ident : $kind:ty)*) -> $answer:ty $body:block
        )*
    ) => {
        #[pyo3::pymethods]
        impl $class {
            $(
                $(#[$doc])*
                $(#[pyo3(signature = $signature)])?
                fn $waits(&self, py: pyo3::Python<'_> $(, $argument: $kind)*) -> pyo3::PyResult<$answer> {
                    let $parts = self.$open().map_err($crate::failure::raised)?;
                    $crate::runtime::wait(py, $parts.lock, async move { $body })
                }

                $(#[$doc])*
                $(#[pyo3(signature = $signature)])?
                fn $awaited<'py>(
                    &self, py: pyo3::Python<'py> $(, $argument: $kind)*
                ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                    let $parts = self.$open().map_err($crate::failure::raised)?;
                    $crate::runtime::awaitable::<$answer>(py, async move { $body })
                }
            )*
        }
    };
}

pub(crate) use calls;
