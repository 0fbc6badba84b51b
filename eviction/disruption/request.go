package disruption

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/release"
)

// Request is one call of the Eviction API: POST .../pods/NAME/eviction. The zero value evicts with no conditions.
type Request struct {
	// Namespace and Name are those of the pod in the URL. Empty fields are taken from the pod, or from Eviction when the
	// pod does not exist.
	Namespace, Name string
	// DryRun is the dryRun parameter of the URL: nil or ["All"].
	DryRun []string
	// Eviction is the posted object. nil is an object with only the pod's name. An object without a name is refused.
	// Objects of policy/v1beta1 have the same fields and the same meaning.
	Eviction *policyv1.Eviction
	// EveryBudget lets a pod that several budgets cover leave when every one of them allows it, and charges each of them.
	// The API does not have this option: v1.37 answers 500, whatever the budgets say.
	EveryBudget bool
	// Release is the release whose causes the answer has (rules L13.1 and L13.2).
	Release release.Version
}

// namespace returns the namespace in the URL.
func (r *Request) namespace(pod *v1.Pod) string {
	switch {
	case r.Namespace != "":
		return r.Namespace
	case pod != nil:
		return pod.Namespace
	case r.Eviction != nil:
		return r.Eviction.Namespace
	}
	return ""
}

// name returns the name in the URL.
func (r *Request) name(pod *v1.Pod) string {
	switch {
	case r.Name != "":
		return r.Name
	case pod != nil:
		return pod.Name
	case r.Eviction != nil:
		return r.Eviction.Name
	}
	return ""
}

func (r *Request) options() *metav1.DeleteOptions {
	if r.Eviction == nil || r.Eviction.DeleteOptions == nil {
		return &metav1.DeleteOptions{}
	}
	return r.Eviction.DeleteOptions
}

// dryRun returns the dry-run option of the URL or of the posted object. Two different options are an error.
func (r *Request) dryRun() ([]string, error) {
	url, content := r.DryRun, r.options().DryRun
	if len(url) > 0 && len(content) > 0 && !slices.Equal(url, content) {
		//lint:ignore ST1005 the API server's text
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", url, content)
	}
	if len(url) > 0 {
		return url, nil
	}
	return content, nil
}
