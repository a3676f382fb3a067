//! The macro that writes chainable setters of requests and answers, whose fields are public but which only this
//! crate can write as literals.

/// Writes a setter for each field: its rustdoc, the name of the field, and the type of the argument, which is the type
/// of the field or `impl Into` of that.
macro_rules! setters {
    ($($(#[$docs:meta])+ $field:ident: $argument:ty,)+) => {$(
        $(#[$docs])+
        #[must_use]
        pub fn $field(mut self, $field: $argument) -> Self {
            self.$field = $field.into();
            self
        }
    )+};
}

pub(crate) use setters;
