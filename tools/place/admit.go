package place

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// gate is what the API server knows when it looks at the waiting pods of the input.
type gate struct {
	objects *dump.Objects
	quotas  *admission.Quotas
	owners  map[string]string // the texts of refused workloads, by the controllers of pods
	text    map[string]string // the first refusal of a controller's pods, by its controller and its words
}

// gate returns the gate for the pods that go through admission. Quotas without a status count the other pods. Quotas and workloads
// refuse with -admit only.
func (o options) gate(objects *dump.Objects, now time.Time) *gate {
	g := &gate{objects: objects, text: map[string]string{}}
	if !o.admit {
		return g
	}
	var stored []*v1.Pod
	for _, p := range objects.Pods {
		if !waits(p) {
			stored = append(stored, p)
		}
	}
	g.quotas = admission.NewQuotas(objects.ResourceQuotas, stored, now, release.Current)
	g.owners = refusedOwners(objects)
	return g
}

// admitted returns the pod after admission, or the text with which the API server refuses the pod or its owner: one text for all
// pods of a controller that are refused for one reason. The checks of the pod's fields refuse with -admit only.
func (o options) admitted(p *v1.Pod, g *gate) (*v1.Pod, string) {
	ref := metav1.GetControllerOf(p)
	if ref != nil && g.owners[ref.Kind+" "+p.Namespace+"/"+ref.Name] != "" {
		return nil, g.owners[ref.Kind+" "+p.Namespace+"/"+ref.Name]
	}
	out, _, err := admission.Admit(p, g.objects.Admission(), o.admission)
	if err == nil && o.admit {
		if err = admission.Refusal(p, invalid(p)); err == nil {
			err = g.quotas.Charge(out)
		}
	}
	if err == nil {
		return out, ""
	}
	if ref == nil {
		return nil, err.Error()
	}
	words := ref.Kind + " " + p.Namespace + "/" + ref.Name + " " + strings.ReplaceAll(err.Error(), fmt.Sprintf("%q", p.Name), "")
	if g.text[words] == "" {
		g.text[words] = err.Error()
	}
	return nil, g.text[words]
}

// unadmitted returns an error for each waiting pod whose fields are valid and that admission refuses all the same.
func (o options) unadmitted(objects *dump.Objects) error {
	var errs []error
	for _, p := range objects.Pods {
		if !waits(p) || !o.admits(p) || len(invalid(p)) > 0 {
			continue
		}
		if _, _, err := admission.Admit(p, objects.Admission(), o.admission); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", named(p), err))
		}
	}
	return errors.Join(errs...)
}
