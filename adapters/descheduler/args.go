package descheduler

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
)

// PluginName is the plugin's name in a policy.
const PluginName = "PodberthFit"

// Mode is the question that the plugin asks.
type Mode string

const (
	// Fits asks whether a node other than the pod's own passes every filter.
	Fits Mode = "Fits"
	// Moves asks whether the scheduler would put the pod on another node. It is the default.
	Moves Mode = "Moves"
)

// Args are the arguments of the plugin.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// Mode is Fits or Moves; "" is Moves.
	Mode Mode `json:"mode,omitempty"`
	// WhileLeaving keeps the old pod as a terminating pod while the new one is decided: it holds resources, ports and anti-affinity.
	// Without it the old pod is gone.
	WhileLeaving bool `json:"whileLeaving,omitempty"`
}

// DeepCopyObject returns a copy.
func (a *Args) DeepCopyObject() runtime.Object {
	out := *a
	return &out
}

// SetDefaults sets the mode when there is none. It does nothing to other types.
func SetDefaults(obj runtime.Object) {
	if a, ok := obj.(*Args); ok && a.Mode == "" {
		a.Mode = Moves
	}
}

// Validate returns a *field.Error for an unknown mode.
func Validate(obj runtime.Object) error {
	a, ok := obj.(*Args)
	if !ok {
		return fmt.Errorf("%s: the arguments are of type %T", PluginName, obj)
	}
	if a.Mode != Fits && a.Mode != Moves {
		return field.NotSupported(field.NewPath("mode"), a.Mode, []Mode{Fits, Moves})
	}
	return nil
}

// Register adds the plugin to a registry.
func Register(registry pluginregistry.Registry) {
	pluginregistry.Register(PluginName, builder(), &Plugin{}, &Args{}, Validate, SetDefaults, registry)
}
