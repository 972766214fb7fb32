//! Keeps a cluster moving: a seeded sequence of the changes that happen to one.

use serde_json::{Value, json};

use super::Api;
use super::generate::{KINDS, Kind, Maker};
use super::load;
use super::objects::{Object, Resource, text};
use crate::error::Result;

/// Makes changes to a cluster and remembers what is there.
pub struct Changes {
    maker: Maker,
    live: Vec<Object>,
}

type Change = fn(&mut Changes, &Api) -> Result<String>;

/// How often each change comes.
const CHANGES: &[(u32, Change)] = &[
    (8, Changes::create_service),
    (6, |c, api| c.delete(api, Resource::Service)),
    (4, Changes::replace_service),
    (4, Changes::change_ports),
    (3, Changes::change_external_name),
    (2, Changes::turn_into_external_name),
    (2, Changes::change_load_balancer),
    (6, Changes::create_slice),
    (6, |c, api| c.delete(api, Resource::EndpointSlice)),
    (10, Changes::change_endpoints),
    (4, Changes::move_slice),
    (6, Changes::create_pod),
    (5, |c, api| c.delete(api, Resource::Pod)),
    (6, Changes::change_pod_status),
    (4, Changes::create_import),
    (3, |c, api| c.delete(api, Resource::ServiceImport)),
    (3, Changes::change_import),
    (4, |c, api| c.change_labels(api, Resource::Service)),
    (4, |c, api| c.change_labels(api, Resource::EndpointSlice)),
    (3, |c, api| c.change_labels(api, Resource::Pod)),
    (2, |c, api| c.change_labels(api, Resource::ServiceImport)),
    (3, Changes::change_namespace_labels),
    (1, Changes::remove_namespace),
];

impl Changes {
    /// `objects` are in the cluster, made by `maker`.
    pub fn new(maker: Maker, objects: Vec<Object>) -> Self {
        Self { maker, live: objects }
    }

    /// Makes one change; tells which.
    pub fn step(&mut self, api: &Api) -> Result<String> {
        let change = *self.maker.random.weighted(CHANGES);
        change(self, api)
    }

    fn create(&mut self, api: &Api, objects: Vec<Object>) -> Result<String> {
        let mut said = String::from("create");
        for object in objects {
            load::create(api, &object)?;
            said += &format!(" {}", object.path());
            self.live.push(object);
        }
        Ok(said)
    }

    /// Any object that fits, by its place among the live ones.
    fn pick(&mut self, fits: impl Fn(&Object) -> bool) -> Option<usize> {
        let places: Vec<usize> = (0..self.live.len()).filter(|i| fits(&self.live[*i])).collect();
        (!places.is_empty()).then(|| *self.maker.random.pick(&places))
    }

    fn pick_of(&mut self, resource: Resource) -> Option<usize> {
        self.pick(|object| object.resource == resource && !object.terminating)
    }

    /// Merges `patch` into an object, here and there.
    fn patch(&mut self, api: &Api, place: usize, patch: &Value) -> Result<String> {
        let path = self.live[place].path();
        self.live[place].body = api.patch(&path, patch)?;
        Ok(format!("patch {path} {patch}"))
    }

    fn create_service(&mut self, api: &Api) -> Result<String> {
        let kind = *self.maker.random.pick(KINDS);
        let objects = self.maker.service_with_slices(kind);
        self.create(api, objects)
    }

    fn delete(&mut self, api: &Api, resource: Resource) -> Result<String> {
        let Some(place) = self.pick_of(resource) else { return nothing() };
        let path = self.live.remove(place).path();
        api.delete(&path)?;
        Ok(format!("delete {path}"))
    }

    /// Another kind of Service under the same name, at once.
    fn replace_service(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::Service) else { return nothing() };
        let kind = *self.maker.random.pick(KINDS);
        let mut service = self.live[place].clone();
        service.body = json!({
            "metadata": {"name": service.name, "labels": self.maker.labels()},
            "spec": self.maker.service_spec(&service.namespace, kind),
        });
        service.status = None;
        api.delete(&service.path())?;
        load::create(api, &service)?;
        let said = format!("replace {}", service.path());
        self.live[place] = service;
        Ok(said)
    }

    fn change_ports(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::Service) else { return nothing() };
        let ports = self.maker.service_spec("shop", Kind::Headless)["ports"].take();
        self.patch(api, place, &json!({"spec": {"ports": ports}}))
    }

    fn change_external_name(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick(|o| text(&o.body, "/spec/type") == "ExternalName") else {
            return nothing();
        };
        let spec = self.maker.service_spec("shop", Kind::ExternalName);
        self.patch(api, place, &json!({"spec": {"externalName": spec["externalName"]}}))
    }

    fn turn_into_external_name(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick(|o| text(&o.body, "/spec/type") == "ClusterIP") else { return nothing() };
        let spec = self.maker.service_spec("shop", Kind::ExternalName);
        let patch = json!({"spec": {
            "type": "ExternalName",
            "externalName": spec["externalName"],
            "clusterIP": null,
            "clusterIPs": null,
            "ipFamilies": null,
            "ipFamilyPolicy": null,
            "internalTrafficPolicy": null,
        }});
        self.patch(api, place, &patch)
    }

    fn change_load_balancer(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick(|o| text(&o.body, "/spec/type") == "LoadBalancer") else {
            return nothing();
        };
        let path = format!("{}/status", self.live[place].path());
        let ip = format!("192.0.2.{}", self.maker.random.byte());
        api.patch(&path, &json!({"status": {"loadBalancer": {"ingress": [{"ip": ip}]}}}))?;
        Ok(format!("patch {path} {ip}"))
    }

    fn create_slice(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::Service) else { return nothing() };
        let Object { namespace, name, body, .. } = self.live[place].clone();
        let ports = body.pointer("/spec/ports").cloned().unwrap_or(Value::Null);
        let slice = self.maker.slice(&namespace, &[("kubernetes.io/service-name", &name)], &ports);
        self.create(api, vec![slice])
    }

    fn change_endpoints(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::EndpointSlice) else { return nothing() };
        let Object { namespace, body, .. } = self.live[place].clone();
        let endpoints = self.maker.endpoints(&namespace, text(&body, "/addressType"));
        self.patch(api, place, &json!({"endpoints": endpoints}))
    }

    /// A slice belongs to another Service from now on, or to none.
    fn move_slice(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::EndpointSlice) else { return nothing() };
        let namespace = self.live[place].namespace.clone();
        let service = self.pick(|o| o.resource == Resource::Service && o.namespace == namespace);
        let service = service.filter(|_| self.maker.random.chance(0.8)).map(|s| self.live[s].name.clone());
        self.patch(api, place, &json!({"metadata": {"labels": {"kubernetes.io/service-name": service}}}))
    }

    fn create_pod(&mut self, api: &Api) -> Result<String> {
        let pod = self.maker.pod();
        self.create(api, vec![pod])
    }

    fn change_pod_status(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::Pod) else { return nothing() };
        let path = format!("{}/status", self.live[place].path());
        let status = self.maker.pod_status();
        api.patch(&path, &json!({ "status": status }))?;
        Ok(format!("patch {path} {status}"))
    }

    fn create_import(&mut self, api: &Api) -> Result<String> {
        let objects = self.maker.import_with_slices();
        self.create(api, objects)
    }

    fn change_import(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::ServiceImport) else { return nothing() };
        let mut spec = self.maker.import("shop", "x").body["spec"].take();
        // What the new one does not have must go from the old one.
        if spec.get("ips").is_none() {
            spec["ips"] = Value::Null;
        }
        self.patch(api, place, &json!({ "spec": spec }))
    }

    /// In and out of the selectors.
    fn change_labels(&mut self, api: &Api, resource: Resource) -> Result<String> {
        let Some(place) = self.pick_of(resource) else { return nothing() };
        let mut labels = json!({"tier": null, "env": null});
        if let (Some(all), Some(new)) = (labels.as_object_mut(), self.maker.labels().as_object()) {
            all.extend(new.clone());
        }
        self.patch(api, place, &json!({"metadata": {"labels": labels}}))
    }

    fn change_namespace_labels(&mut self, api: &Api) -> Result<String> {
        let Some(place) = self.pick_of(Resource::Namespace) else { return nothing() };
        let team = *self.maker.random.pick(&[Some("red"), Some("blue"), None]);
        self.patch(api, place, &json!({"metadata": {"labels": {"team": team}}}))
    }

    /// The namespace goes; nobody is there to take what is in it away.
    fn remove_namespace(&mut self, api: &Api) -> Result<String> {
        // Two of those in which little is.
        let Some(place) = self.pick(|o| o.resource == Resource::Namespace && ["x", "7"].contains(&&*o.name))
        else {
            return nothing();
        };
        let namespace = self.live.remove(place);
        self.live.retain(|object| object.namespace != namespace.name);
        let path = namespace.path();
        let mut body = api.delete(&path)?;
        body["spec"]["finalizers"] = json!([]);
        api.replace(&format!("{path}/finalize"), &body)?;
        self.maker.forget_namespace(&namespace.name);
        Ok(format!("delete {path}"))
    }
}

fn nothing() -> Result<String> {
    Ok("nothing to change".into())
}
