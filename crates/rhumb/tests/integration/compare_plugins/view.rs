//! `view`: selects one of several blocks of a zone.

use super::{HOSTS, PLAIN, Set, check};

/// Blocks with distinct answers; each expression uses another property of the query.
#[test]
fn view_by_question() {
    check(&Set {
        corefile: "example.org:{port} {\n bind 127.0.0.1\n log\n errors\n view types {\n  expr type() in ['AAAA', 'TXT', 'DS']\n }\n hosts hosts\n}\n\
                   example.org:{port} {\n bind 127.0.0.1\n log\n view names {\n  expr name() matches '^[a-d]\\\\.' && not (name() startsWith 'b')\n  expr len(name()) < 20\n }\n chaos one\n whoami\n}\n\
                   example.org:{port} {\n bind 127.0.0.1\n log\n view even {\n  expr id() % 2 == 0 and size() > 25\n }\n acl {\n  block\n }\n whoami\n}\n\
                   b.example.org:{port} {\n bind 127.0.0.1\n log\n view dnssec {\n  expr do() || bufsize() in 1000..2000\n }\n acl {\n  filter\n }\n whoami\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view short {\n  expr count(split(name(), '.')) < 3\n }\n whoami\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view words {\n  expr \"any(split(name(), '.'), # in ['localhost', 'wild', 'in-addr']) ? true : opcode() != 0\"\n }\n hosts {\n  10.0.0.9 localhost\n  fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}

/// By protocol and address, and by expressions that fail or are not boolean: those blocks match nothing.
#[test]
fn view_by_client() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n log\n view fails {\n  expr incidr(name(), '127.0.0.0/8')\n }\n erratic\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view number {\n  expr len(name())\n }\n erratic\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view nowhere {\n  expr !incidr(client_ip(), 'nowhere')\n }\n erratic\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view tcp {\n  expr proto() == 'tcp' && bufsize() == 65535\n }\n acl {\n  block\n }\n whoami\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n metadata example.org\n view told {\n  expr metadata('view/name') == 'told' && class() == 'IN'\n }\n acl {\n  filter type A\n }\n whoami\n}\n\
                   .:{port} {\n bind 127.0.0.1\n log\n view mine {\n  expr incidr(client_ip(), '127.0.0.0/8') && incidr(server_ip(), client_ip() + '/30') && int(server_port()) > 1023\n  expr type() != 'MX'\n }\n hosts hosts {\n  fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        ..PLAIN
    });
}
