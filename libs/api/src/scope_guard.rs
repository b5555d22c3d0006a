//! The scope of a route as a type, so that no handler can forget to check it.

use domain::scope::Scope;

pub trait Needs: Send + Sync + 'static {
    const SCOPE: Scope;
}

macro_rules! needs {
    ($($name:ident),+) => {$(
        #[doc = concat!("[`Scope::", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Needs for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )+};
}

needs!(UserRead, ConnectionsRead, ConnectionsWrite, PostsRead, PostsWrite, PostsDraft, MediaWrite, WebhooksWrite);
