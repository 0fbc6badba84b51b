package dump

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// Object reads one object, as JSON, of a kind that Read knows. Errors begin with at, which says where it stands.
func Object(data []byte, at string) (metav1.Object, error) {
	r := reader{objects: &Objects{}, seen: map[string]string{}, unknown: map[string]int{}}
	var h struct {
		Kind string `json:"kind"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &h); err != nil {
		return nil, fmt.Errorf("%s: not a Kubernetes object with apiVersion and kind: %w", at, oneLine(err))
	}
	if err := r.object(data, at); err != nil {
		return nil, err
	}
	if r.last == nil {
		return nil, fmt.Errorf("%s: kind: Unsupported value: %q", at, h.Kind)
	}
	return r.last, nil
}
