//! The macro that writes chainable setters for requests and answers. Their fields are public, but only this crate can
//! write them as literals.

/// Writes a setter for each field from its rustdoc, its name and the type of the argument: the type of the field, or
/// `impl Into` of it.
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
