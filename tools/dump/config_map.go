package dump

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// InConfigMap returns the text of a configuration: text itself, or, when text is a ConfigMap, the one value of its data that has an
// object of a kind in an API group. A ConfigMap with several such values is an error that names their keys, and one without any too.
func InConfigMap(text []byte, group, kind string) ([]byte, error) {
	var head struct{ APIVersion, Kind string }
	if yaml.Unmarshal(text, &head) != nil || head.APIVersion != "v1" || head.Kind != "ConfigMap" {
		return text, nil // whoever reads the text says what is wrong with it
	}
	var c v1.ConfigMap
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		var inner struct{ APIVersion, Kind string }
		if yaml.Unmarshal([]byte(c.Data[key]), &inner) == nil && inner.Kind == kind && strings.HasPrefix(inner.APIVersion, group+"/") {
			keys = append(keys, key)
		}
	}
	switch len(keys) {
	case 0:
		return nil, fmt.Errorf("ConfigMap %s: data: Required value: no value is a %s", c.Name, kind)
	case 1:
		return []byte(c.Data[keys[0]]), nil
	}
	return nil, fmt.Errorf("ConfigMap %s: data: Too many: %s are each a %s: write the one that counts to a file", c.Name, strings.Join(keys, ", "), kind)
}
