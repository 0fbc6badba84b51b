package config

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

const kind = "KubeSchedulerConfiguration"

// v1beta3 has the shape of v1 and is read as such. kube-scheduler dropped it in v1.29.
var v1beta3 = schema.GroupVersion{Group: configv1.GroupName, Version: "v1beta3"}

// current decodes v1, previous documents of which a part is v1beta3.
var current, previous = decoderOf(), decoderOf(v1beta3)

// decoderOf returns a strict decoder to v1 of v1 and of the versions that look like it.
func decoderOf(also ...schema.GroupVersion) runtime.Decoder {
	scheme := runtime.NewScheme()
	if err := configv1.AddToScheme(scheme); err != nil {
		panic(err) // the published types register themselves
	}
	for _, gv := range also {
		scheme.AddKnownTypes(gv, &configv1.KubeSchedulerConfiguration{},
			&configv1.DefaultPreemptionArgs{}, &configv1.DynamicResourcesArgs{}, &configv1.InterPodAffinityArgs{},
			&configv1.NodeAffinityArgs{}, &configv1.NodeResourcesBalancedAllocationArgs{}, &configv1.NodeResourcesFitArgs{},
			&configv1.PodTopologySpreadArgs{}, &configv1.VolumeBindingArgs{})
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(configv1.SchemeGroupVersion)
}

// Decode reads a document, YAML or JSON, fills in v1.36's defaults and returns it as v1. Unknown and repeated fields are
// errors. Of several YAML documents the first is read. The errors are those of kube-scheduler v1.36; for versions that it
// does not read any more, and for policies, the error is an *OldVersionError with the equivalent in v1. v1beta3, which
// v1.36 refuses as well, is read.
func Decode(data []byte) (*configv1.KubeSchedulerConfiguration, error) {
	decoder := current
	gvk := versionOf(data)
	if gvk != nil && gvk.GroupVersion() == v1beta3 {
		decoder = previous
	}
	object, actual, err := decoder.Decode(data, nil, nil)
	if err != nil {
		if runtime.IsNotRegisteredError(err) && gvk != nil && *gvk != configv1.SchemeGroupVersion.WithKind(gvk.Kind) {
			return nil, oldVersion(err, *gvk, data)
		}
		return nil, err
	}
	c, ok := object.(*configv1.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as %s, got %s: ", kind, actual)
	}
	SetDefaults(c)
	return c, nil
}

// versionOf returns what the document says it is, nil when it does not say.
func versionOf(data []byte) *schema.GroupVersionKind {
	if j, err := yaml.YAMLToJSON(data); err == nil {
		data = j
	}
	gvk, err := json.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil
	}
	return gvk
}

// Encode returns the document as YAML, with its version and kind.
func Encode(c *configv1.KubeSchedulerConfiguration) ([]byte, error) {
	if c == nil {
		return nil, errors.New("no configuration")
	}
	c = c.DeepCopy()
	c.SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(kind))
	for i := range c.Profiles {
		for k := range c.Profiles[i].PluginConfig {
			args := &c.Profiles[i].PluginConfig[k].Args
			if args.Object != nil {
				raw, err := yaml.Marshal(args.Object)
				if err == nil {
					raw, err = yaml.YAMLToJSON(raw)
				}
				if err != nil {
					return nil, fmt.Errorf("profiles[%d].pluginConfig[%d].args: %w", i, k, err)
				}
				*args = runtime.RawExtension{Raw: raw}
			}
		}
	}
	return yaml.Marshal(c)
}
