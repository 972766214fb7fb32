//! `shed`: no effect while replies are sent as fast as they are produced.

use super::{PLAIN, Set, check};

#[test]
fn nothing_is_shed_while_there_is_room() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n shed\n errors\n log\n local\n whoami\n}\n\
                   example.org:{port} {\n bind 127.0.0.1\n log\n whoami\n}\n",
        ..PLAIN
    });
}
