package workload

import (
	"cmp"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/podinfo"
)

// claimsOfPods makes the claims of generic ephemeral volumes and of devices for the pods that wait: those of the input and those made.
func (m *maker) claimsOfPods() {
	templates := map[id]*resourcev1.ResourceClaimTemplate{}
	for _, t := range m.o.ClaimTemplates {
		templates[id{t.Namespace, t.Name}] = t
	}
	taken := map[id]bool{}
	for _, c := range m.o.ResourceClaims {
		taken[id{c.Namespace, c.Name}] = true
	}
	for _, p := range m.o.Pods {
		if p.Spec.NodeName != "" || !active(p) {
			continue
		}
		with := p
		if p.UID == "" && len(podinfo.EphemeralClaims(p)) > 0 {
			with = identified(p)
		}
		m.ephemeral(with)
		if with = m.devices(with, templates, taken); with != p {
			m.made.Claiming = append(m.made.Claiming, with)
		}
	}
	for i, p := range m.made.Pods {
		m.ephemeral(p)
		m.made.Pods[i] = m.devices(p, templates, taken)
	}
}

// identified returns a copy of a pod that has a UID: claims name their pod by UID.
func identified(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	p.UID = cmp.Or(p.UID, types.UID(p.Namespace+"/"+p.Name))
	return p
}

// ephemeral makes the claims of a pod's generic ephemeral volumes that do not exist.
func (m *maker) ephemeral(p *v1.Pod) {
	for _, c := range podinfo.EphemeralClaims(p) {
		if at := (id{c.Namespace, c.Name}); !m.claims[at] {
			m.claims[at] = true
			c.APIVersion, c.Kind = core, "PersistentVolumeClaim"
			m.made.Claims = append(m.made.Claims, c.DeepCopy())
		}
	}
}

// devices makes the ResourceClaims of a pod that its status does not name, and returns the pod with their names; the pod itself when
// there are none to make.
func (m *maker) devices(p *v1.Pod, templates map[id]*resourcev1.ResourceClaimTemplate, taken map[id]bool) *v1.Pod {
	named := map[string]bool{}
	for _, s := range p.Status.ResourceClaimStatuses {
		named[s.Name] = true
	}
	with := p
	for i := range p.Spec.ResourceClaims {
		e := &p.Spec.ResourceClaims[i]
		if e.ResourceClaimTemplateName == nil || named[e.Name] {
			continue
		}
		template := templates[id{p.Namespace, *e.ResourceClaimTemplateName}]
		if template == nil {
			continue
		}
		if with == p {
			with = identified(p)
		}
		c := devices.ClaimFromTemplate(with, e.Name, template, "1")
		for n := 2; taken[id{c.Namespace, c.Name}]; n++ {
			c = devices.ClaimFromTemplate(with, e.Name, template, strconv.Itoa(n))
		}
		c.UID = types.UID(c.Namespace + "/" + c.Name) // the API server has it: it is no claim of a question
		c.APIVersion, c.Kind = resourcev1.SchemeGroupVersion.String(), "ResourceClaim"
		taken[id{c.Namespace, c.Name}] = true
		m.made.ResourceClaims = append(m.made.ResourceClaims, c)
		with.Status.ResourceClaimStatuses = append(with.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &c.Name})
	}
	return with
}
