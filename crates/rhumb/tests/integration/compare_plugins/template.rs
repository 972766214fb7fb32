//! `template`.

use super::{HOSTS, PLAIN, Set, check};

/// The templates of AKS's Corefile, above other plugins.
#[test]
fn templates_of_aks() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   template ANY ANY internal.cloudapp.net {\n \
                   match \"^(?:[^.]+\\.){4,}internal\\.cloudapp\\.net\\.$\"\n rcode NXDOMAIN\n fallthrough\n }\n \
                   template ANY ANY reddog.microsoft.com {\n rcode NXDOMAIN\n }\n \
                   hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        names: &[
            "a.internal.cloudapp.net",
            "a.b.c.d.internal.cloudapp.net",
            "a.b.c.d.e.internal.cloudapp.net",
            "a.b.c.internal.cloudapp.net",
            "internal.cloudapp.net",
            "reddog.microsoft.com",
            "x.reddog.microsoft.com",
            "microsoft.com",
            "a.example.org",
            "b.example.org",
        ],
        ..PLAIN
    });
}

/// Addresses in names, forward and reverse, and related records.
#[test]
fn templates_with_groups() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   template IN A example.org {\n \
                   match (^|[.])ip-(?P<a>[0-9]*)-(?P<b>[0-9]*)-(?P<c>[0-9]*)-(?P<d>[0-9]*)[.]example[.]org[.]$\n \
                   match \"^hex(?P<a>[a-f0-9]{2})[.]example[.]org[.]$\"\n \
                   answer \"{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}.{{ .Group.d }}\"\n \
                   authority \"example.org. 60 IN NS ns0.example.org.\" \"example.org. 60 IN NS ns1.example.org.\"\n \
                   additional \"ns0.example.org. 60 IN A 203.0.113.8\"\n \
                   additional \"ns1.example.org. 60 IN A {{ .Remote }}\"\n fallthrough\n }\n \
                   template IN PTR in-addr.arpa {\n \
                   match ^(?P<d>[0-9]*)[.](?P<c>[0-9]*)[.](?P<b>[0-9]*)[.](?P<a>[0-9]*)[.]in-addr[.]arpa[.]$\n \
                   answer \"{{ .Name }} 60 IN PTR ip-{{ .Group.a }}-{{ .Group.b }}-{{ .Group.c }}-{{ .Group.d }}.example.org.\"\n }\n \
                   template IN MX example.org {\n match ^ip-10-(?P<b>[0-9]*)-\n \
                   answer \"{{ .Name }} 60 IN MX 10 {{ .Name }}\" \"{{ .Name }} 60 IN MX 20 mail{{ index .Match 1 }}.{{ .Zone }}\"\n \
                   additional \"{{ .Name }} 60 IN A 10.{{ .Group.b }}.0.1\"\n fallthrough\n }\n \
                   template IN ANY srv.example.org {\n match ^(_[a-z]+)[.](_tcp|_udp)[.]\n \
                   answer \"{{ .Name }} 30 {{ .Class }} SRV 0 {{ len .Match }} {{ parseInt \\\"1f90\\\" 16 32 }} {{ slice (index .Match 1) 1 }}.{{ .Zone }}\"\n fallthrough srv.example.org\n }\n \
                   template ANY TXT example.org b.example.org {\n match . \n answer \"{{ .Name }} TXT \\\"{{ .Zone }} {{ .Type }} {{ .Class }} {{ .Regex }} {{ .Question.Qtype }} {{ .Message.RecursionDesired }} {{ len .Group }}\\\"\"\n }\n \
                   hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        names: &[
            "ip-10-0-0-1.example.org",
            "www.ip-10-1-2-3.example.org",
            "ip-10-300-2-3.example.org",
            "ip-10---.example.org",
            "hexff.example.org",
            "1.0.0.10.in-addr.arpa",
            "4.3.2.1.in-addr.arpa",
            "10.in-addr.arpa",
            "x.in-addr.arpa",
            "_http._tcp.srv.example.org",
            "_dns._udp.x.srv.example.org",
            "www.srv.example.org",
            "a.example.org",
            "deep.b.example.org",
            "example.org",
            "elsewhere.net",
        ],
        ..PLAIN
    });
}

/// Denials, rcodes, extended errors, fallthrough to nothing, several templates in a row.
#[test]
fn templates_that_deny() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   template ANY ANY invalid {\n rcode NXDOMAIN\n \
                   authority \"invalid. 60 {{ .Class }} SOA ns.invalid. hostmaster.invalid. (1 60 60 60 60)\"\n \
                   ederror 21 \"Blocked according to RFC2606\"\n }\n \
                   template IN A example.org {\n match ^a[.] ^first[.]\n answer \"{{ .Name }} 5 IN A 10.0.0.1\"\n fallthrough example.org\n }\n \
                   template IN A example.org {\n match ^b[.]\n answer \"{{ .Name }} 5 IN A 10.0.0.2\"\n fallthrough b.example.org c.example.org\n }\n \
                   template IN AAAA example.org {\n authority \"{{ .Zone }} 60 IN SOA ns.{{ .Zone }} hostmaster.{{ .Zone }} (1 60 60 60 60)\"\n }\n \
                   template ANY ANY refused.net {\n rcode REFUSED\n ederror 15\n }\n \
                   template ANY ANY fails.net {\n rcode SERVFAIL\n answer \"x. 1 IN A 1.2.3.4\"\n }\n \
                   template ANY ANY notauth.net {\n rcode NOTAUTH\n answer \"x. 1 IN A 1.2.3.4\"\n }\n \
                   template ANY ANY broken.net {\n match ^a[.]\n answer \"{{ .Name }} 5 IN A {{ index .Match 7 }}\"\n fallthrough\n }\n \
                   template ANY ANY broken.net {\n match ^b[.]\n answer \"{{ .Name }} 5 IN A {{ .Type }}\"\n fallthrough\n }\n \
                   template ANY ANY broken.net {\n answer \"{{ .Name }} 5 IN {{ .Type }} 10.0.0.1\"\n }\n \
                   template IN TXT {\n answer \". 0 CH TXT {{ .Name }}\"\n }\n}\n",
        names: &[
            "invalid",
            "x.y.invalid",
            "a.example.org",
            "first.example.org",
            "b.example.org",
            "a.b.example.org",
            "c.example.org",
            "d.example.org",
            "x.refused.net",
            "fails.net",
            "notauth.net",
            "a.broken.net",
            "b.broken.net",
            "c.broken.net",
            ".",
            "elsewhere.net",
        ],
        // TXT records of names with escapes have another size in CoreDNS's log.
        logged: false,
        ..PLAIN
    });
}

/// CNAMEs are resolved through the whole server, and the plugins above see the result.
#[test]
fn templates_with_aliases() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n loadbalance\n minimal\n \
                   rewrite name suffix .example.com .example.org answer auto\n \
                   template IN ANY alias.example.org {\n match ^([a-z0-9]+)[.]alias\n \
                   answer \"{{ .Name }} 60 IN CNAME {{ index .Match 1 }}.example.org.\"\n fallthrough\n }\n \
                   template IN A two.example.org {\n answer \"{{ .Name }} 60 IN CNAME a.example.org\" \"{{ .Name }} 60 IN A 10.9.9.9\" \"{{ .Name }} 60 IN CNAME b.alias.example.org\"\n }\n \
                   template IN ANY chain.example.org {\n match ^x+ \n answer \"{{ .Name }} 60 IN CNAME {{ slice .Name 1 }}\"\n fallthrough\n }\n \
                   hosts hosts\n}\n\
                   elsewhere.net:{port} {\n bind 127.0.0.1\n log\n cache 30\n template ANY A {\n answer \"{{ .Name }} 60 IN CNAME a.example.org.\"\n additional \"extra. 5 IN A 10.1.1.1\"\n }\n \
                   template ANY ANY {\n rcode NXDOMAIN\n authority \"elsewhere.net. 60 IN SOA a. b. 1 2 3 4 5\"\n }\n}\n",
        files: HOSTS,
        names: &[
            "a.alias.example.org",
            "b.alias.example.org",
            "v6.alias.example.org",
            "nobody.alias.example.org",
            "alias.example.org",
            "two.example.org",
            "www.two.example.com",
            "xx.chain.example.org",
            "xxxx.chain.example.org",
            "y.chain.example.org",
            "a.alias.example.com",
            "a.elsewhere.net",
            "b.elsewhere.net",
            "a.example.org",
        ],
        malformed: 0.0,
        logged: false,
        ..PLAIN
    });
}

/// Every type that has a text form.
#[test]
fn templates_of_many_types() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n errors\n log\n \
                   template IN TXT {\n answer \"{{ .Name }} 60 IN TXT \\\"one {{ .Type }}\\\" two \\\"\\\\065\\\"\" \"{{ .Name }} SPF v=spf1\"\n }\n \
                   template IN SOA {\n answer \"{{ .Name }} 1h IN SOA ns hostmaster (2024010101 1d 2h 4w 1h)\"\n }\n \
                   template IN NS {\n answer \"{{ .Name }} IN 60 NS ns1\" \"@ NS .\"\n additional \"ns1 60 AAAA ::1\" \"ns1 A 10.0.0.1 ; with a comment\"\n }\n \
                   template IN SRV {\n answer \"{{ .Name }} SRV 1 2 3 a\\.b.c.\"\n }\n \
                   template IN HTTPS {\n answer \"{{ .Name }} HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=10.0.0.1,10.0.0.2 ipv6hint=2001:db8::1\" \"{{ .Name }} HTTPS 0 svc.example.org.\"\n }\n \
                   template IN SVCB {\n answer \"{{ .Name }} SVCB 16 foo.example.org. key667=hello mandatory=alpn,port alpn=\\\"h2\\\" port=53\"\n }\n \
                   template IN CAA {\n answer \"{{ .Name }} CAA 0 issue \\\"ca.example.org; policy=ev\\\"\"\n }\n \
                   template IN DS {\n answer \"{{ .Name }} DS 60485 RSASHA1 1 2BB183AF5F22588179A53B0A 98631FAD1A292118\"\n }\n \
                   template IN DNSKEY {\n answer \"{{ .Name }} DNSKEY 257 3 13 AQIDBA==\"\n }\n \
                   template IN HINFO {\n answer \"{{ .Name }} HINFO \\\"PC-Intel-700mhz\\\" \\\"Redhat Linux 7.1\\\"\"\n }\n \
                   template IN DNAME {\n answer \"{{ .Name }} DNAME other.example.org.\"\n }\n \
                   template IN PTR {\n answer \"{{ .Name }} TYPE65280 \\# 3 00ff01\" \"{{ .Name }} A \\# 4 0A000001\"\n }\n \
                   template IN MX {\n answer \"{{ .Name }} NAPTR 100 10 \\\"S\\\" \\\"SIP+D2U\\\" \\\"!^.*$!sip:x@y!\\\" _sip._udp.example.org.\" \"{{ .Name }} TLSA 3 1 1 0C72AC70B745AC19998811B131D662C9\" \"{{ .Name }} SSHFP 4 2 123456789abcdef67890\" \"{{ .Name }} LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m\" \"{{ .Name }} URI 10 1 \\\"https://example.org/\\\"\"\n }\n \
                   template IN A {\n answer \"{{ .Name }} RP a.b. c.d.\" \"{{ .Name }} NSEC z. A NS TXT TYPE1234\" \"{{ .Name }} A\" \"{{ .Name }} MX\"\n }\n \
                   template ANY ANY {\n answer \"{{ .Question.Name }} AAAA {{ .Remote }}\"\n }\n}\n",
        names: &["example.org", "a.example.org", "b.b.example.org", ".", "x.y.z"],
        logged: false,
        ..PLAIN
    });
}

/// Functions and control structures.
#[test]
fn templates_that_compute() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n metadata\n errors\n log\n \
                   template ANY ANY {\n match ^(?P<first>[^.]*)[.](.*)$\n \
                   answer \"{{ .Name }} TXT \\\"{{ range $i, $e := .Match }}{{ $i }}={{ $e }};{{ end }}\\\"\"\n \
                   answer \"{{ .Name }} TXT \\\"{{ range $k, $v := .Group }}{{ if $k }}{{ $k }}={{ $v | html }};{{ end }}{{ else }}none{{ end }}\\\"\"\n \
                   answer \"{{ .Name }} TXT {{ printf \\\"%q %5d|%-5s|%x|%03d\\\" .Type .Question.Qtype .Class .Group.first (len .Name) | urlquery }}\"\n \
                   answer \"{{ .Name }} TXT {{ if and (eq .Type \\\"A\\\") (gt (len .Name) 10) }}long{{ else if or (lt .Question.Qtype 20) .Var.x }}small{{ else }}other{{ end }}\"\n \
                   answer \"{{ .Name }} TXT \\\"{{ with .Group.first }}{{ . }}{{ else }}empty{{ end }} {{ .Group.second }} {{ .Meta \\\"template/x\\\" }}. {{ index .Match 0 | len }} {{ not .Var }}\\\"\"\n \
                   additional \"{{ define \\\"t\\\" }}{{ . }}{{ end }}{{ template \\\"t\\\" .Name }} 7 IN A 10.0.0.{{ len (slice .Match 1) }}\"\n \
                   authority \"{{- /* nothing */ -}} {{ $x := .Zone }}{{ range 3 }}{{ $x = print $x . \\\".\\\" }}{{ end }}x{{ $x }} 7 IN NS {{ js .Name }}\"\n fallthrough\n }\n whoami\n}\n",
        names: &[
            "example.org",
            "a.example.org",
            "<b>.example.org",
            "org",
            ".",
            "a'b.example.org",
            "A.B.C.D",
            "x-1.é.org",
        ],
        malformed: 0.0,
        logged: false,
        ..PLAIN
    });
}

/// Variables and conditions.
#[test]
fn templates_with_expressions() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1\n metadata\n errors\n log\n \
                   template IN A example.org {\n match ^(?P<ip>[0-9]{1,3}(-[0-9]{1,3}){3})[.](?P<id>[a-z]+)[.]\n \
                   var ip replace(group('ip'), '-', '.')\n var parts split(ip, '.')\n var total len(parts)\n \
                   expr \"any(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'], incidr(ip, #))\"\n \
                   expr group('id') != 'no' && total == 4\n \
                   answer \"{{ .Name }} 60 IN A {{ .Var.ip }}\"\n \
                   additional \"{{ index .Var.parts 0 }}.{{ .Var.total }} 60 IN TXT \\\"{{ .Var.parts }} {{ range $k, $v := .Var }}{{ $k }}={{ $v }};{{ end }}\\\"\"\n fallthrough\n }\n \
                   template ANY TXT example.org {\n match ^([a-z]*)-?([0-9]*)\n var n int(group(2))\n expr name() startsWith 'a' || type() == 'TXT'\n \
                   answer \". 0 TXT {{ .Var.n }} {{ .Group.n }} {{ len .Var }}\"\n }\n \
                   template IN MX {\n var flags {'do': do(), 'size': size() > 30, 'proto': proto()}\n expr flags.proto == 'udp'\n \
                   answer \"{{ .Name }} 5 MX {{ if .Var.flags.do }}1{{ else }}2{{ end }} {{ .Var.flags.size }}.\"\n fallthrough net\n }\n \
                   template IN SRV {\n expr 1 + 1\n fallthrough\n }\n \
                   hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        files: HOSTS,
        names: &[
            "10-0-0-1.abc.example.org",
            "192-168-3-4.abc.example.org",
            "8-8-8-8.abc.example.org",
            "10-0-0-1.no.example.org",
            "10-0-0-300.abc.example.org",
            "abc-7.example.org",
            "b.example.org",
            "a-x.example.org",
            "elsewhere.net",
            "a.example.org",
        ],
        malformed: 0.0,
        logged: false,
        ..PLAIN
    });
}
