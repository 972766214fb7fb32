//! The cluster of most tables.

/// Services of every kind in the namespace `shop`.
pub(super) const SHOP: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Namespace
metadata: { name: empty }
---
# A Service with an address of either family, a named port and one without a name.
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  clusterIP: 10.96.0.7
  clusterIPs: [10.96.0.7, 'fd00:96::7']
  ports:
    - { name: http, port: 80, protocol: TCP }
    - { name: dns, port: 53, protocol: UDP }
---
apiVersion: v1
kind: Service
metadata: { name: single, namespace: shop }
spec:
  clusterIP: 10.96.0.8
  clusterIPs: [10.96.0.8]
  ports:
    - { port: 8080, protocol: TCP }
---
apiVersion: v1
kind: Service
metadata: { name: portless, namespace: shop }
spec: { clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9] }
---
# Headless: two endpoints with host names, one of them with two families, one without a name, one not ready.
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec:
  clusterIP: None
  clusterIPs: [None]
  ports:
    - { name: sql, port: 5432, protocol: TCP }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-v4, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: [10.244.1.1], hostname: db-0, conditions: { ready: true } }
  - { addresses: [10.244.1.2], hostname: db-1 }
  - { addresses: [10.244.1.3], targetRef: { kind: Pod, name: db-x } }
  - { addresses: [10.244.1.4], hostname: db-3, conditions: { ready: false } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-v6, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv6
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: ['fd00:244::1'], hostname: db-0 }
---
# Headless without a ready endpoint.
apiVersion: v1
kind: Service
metadata: { name: idle, namespace: shop }
spec: { clusterIP: None, clusterIPs: [None], ports: [{ name: x, port: 1 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: idle-1, namespace: shop, labels: { kubernetes.io/service-name: idle } }
addressType: IPv4
ports: [{ name: x, port: 1, protocol: TCP }]
endpoints:
  - { addresses: [10.244.1.9], conditions: { ready: false } }
---
# The endpoints of a Service with an address have names too.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080, protocol: TCP }]
endpoints:
  - { addresses: [10.244.1.7], targetRef: { kind: Pod, name: web-abc } }
---
# Headless without ports.
apiVersion: v1
kind: Service
metadata: { name: bare, namespace: shop }
spec: { clusterIP: None, clusterIPs: [None] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: bare-1, namespace: shop, labels: { kubernetes.io/service-name: bare } }
addressType: IPv4
endpoints:
  - { addresses: [10.244.1.11], hostname: bare-0 }
";
