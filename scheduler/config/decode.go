package config

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	metajson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

const configKind = "KubeSchedulerConfiguration"

// v1beta3 has the form of v1 and is read as v1. kube-scheduler dropped it in v1.29.
var v1beta3 = schema.GroupVersion{Group: configv1.GroupName, Version: "v1beta3"}

// current decodes v1, previous also documents with parts of v1beta3.
var current, previous = decoderOf(), decoderOf(v1beta3)

// decoderOf returns a strict decoder to v1 from v1 and from versions with the same form.
func decoderOf(also ...schema.GroupVersion) runtime.Decoder {
	scheme := runtime.NewScheme()
	if err := configv1.AddToScheme(scheme); err != nil {
		panic(err) // the published package registers the types itself
	}
	for _, gv := range also {
		scheme.AddKnownTypes(gv, &configv1.KubeSchedulerConfiguration{},
			&configv1.DefaultPreemptionArgs{}, &configv1.DynamicResourcesArgs{}, &configv1.InterPodAffinityArgs{},
			&configv1.NodeAffinityArgs{}, &configv1.NodeResourcesBalancedAllocationArgs{}, &configv1.NodeResourcesFitArgs{},
			&configv1.PodTopologySpreadArgs{}, &configv1.VolumeBindingArgs{})
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(configv1.SchemeGroupVersion)
}

// Decode reads a document, YAML or JSON, sets v1.37's defaults and returns the document as v1. Unknown and repeated fields
// are errors. Of several YAML documents Decode reads the first. The errors are those of kube-scheduler v1.37. For older
// versions and for policies the error is an *OldVersionError with the equivalent in v1. Decode also reads v1beta3, which
// v1.37 refuses.
func Decode(data []byte) (*configv1.KubeSchedulerConfiguration, error) {
	decoder := current
	gvk := versionOf(data)
	if gvk != nil && gvk.GroupVersion() == v1beta3 {
		decoder = previous
	}
	object, actual, err := decoder.Decode(data, nil, nil)
	if err != nil {
		// A policy as documentation prints it, with a comma too many, is no JSON to kube-scheduler.
		if gvk != nil && (gvk.Kind == "Policy" || runtime.IsNotRegisteredError(err) && *gvk != configv1.SchemeGroupVersion.WithKind(gvk.Kind)) {
			return nil, oldVersion(err, *gvk, data)
		}
		return nil, err
	}
	c, ok := object.(*configv1.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as %s, got %s: ", configKind, actual)
	}
	SetDefaults(c)
	return c, nil
}

// versionOf returns the version and kind of a document, nil when it names none.
func versionOf(data []byte) *schema.GroupVersionKind {
	j, err := yaml.YAMLToJSON(data)
	if err != nil {
		j, err = yaml.YAMLToJSON(withoutEllipses(data))
	}
	if err == nil {
		data = j
	}
	gvk, err := metajson.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil
	}
	return gvk
}

// Encode returns the document as YAML, with its version and kind first and without empty fields.
func Encode(c *configv1.KubeSchedulerConfiguration) ([]byte, error) {
	if c == nil {
		return nil, errors.New("no configuration")
	}
	c = c.DeepCopy()
	for i := range c.Profiles {
		for k := range c.Profiles[i].PluginConfig {
			args := &c.Profiles[i].PluginConfig[k].Args
			if args.Object == nil {
				continue
			}
			raw, err := json.Marshal(args.Object)
			if err != nil {
				return nil, fmt.Errorf("profiles[%d].pluginConfig[%d].args: %w", i, k, err)
			}
			*args = runtime.RawExtension{Raw: raw}
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var doc mapping
	if err := yaml.Unmarshal(data, &doc); err != nil { // as YAML
		return nil, err
	}
	prune(doc)
	return write(doc)
}

// write prints a document of v1 with its version and kind first.
func write(doc mapping) ([]byte, error) {
	delete(doc, "apiVersion")
	delete(doc, "kind")
	out := []byte("apiVersion: " + configv1.SchemeGroupVersion.String() + "\nkind: " + configKind + "\n")
	if len(doc) == 0 {
		return out, nil
	}
	rest, err := yaml.Marshal(doc)
	return append(out, rest...), err
}

// prune drops fields without content: null, empty, and zero where zero means the default. It does not change arguments,
// where an empty list may have a meaning.
func prune(doc mapping) {
	for key, v := range doc {
		switch v := v.(type) {
		case mapping:
			if key == "args" {
				continue
			}
			if prune(v); len(v) == 0 {
				delete(doc, key)
			}
		case []any:
			for _, item := range v {
				if o, ok := item.(mapping); ok {
					prune(o)
				}
			}
			if len(v) == 0 {
				delete(doc, key)
			}
		case nil:
			delete(doc, key)
		}
	}
	for _, key := range [...]string{"clientConnection", "leaderElection"} {
		section, _ := doc[key].(mapping)
		for name, v := range section {
			if v == "" || v == "0s" || v == float64(0) || v == int64(0) {
				delete(section, name)
			}
		}
		if section != nil && len(section) == 0 {
			delete(doc, key)
		}
	}
	if doc["httpTimeout"] == "0s" {
		delete(doc, "httpTimeout")
	}
}
