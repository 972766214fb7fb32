//! `multisocket`: answers do not depend on the number of sockets.

use super::{PLAIN, Set, check};

#[test]
fn several_sockets_on_one_address() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n multisocket 5\n errors\n log\n local\n whoami\n}\n\
                   example.org:{port} {\n bind 127.0.0.1\n multisocket 2\n log\n whoami\n}\n",
        ..PLAIN
    });
}

#[test]
fn one_socket_on_an_address() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n multisocket 1\n errors\n log\n whoami\n}\n",
        ..PLAIN
    });
}
