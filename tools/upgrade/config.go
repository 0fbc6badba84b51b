package upgrade

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// fieldChange is a field of the configuration that the version before takes and the version after refuses.
type fieldChange struct {
	Field string `json:"field"` // path of the field
	Why   string `json:"why"`   // the text of the refusal
	Rule  rule   `json:"rule"`  // the difference
}

// configuration has the fields of a KubeSchedulerConfiguration that differ between versions.
type configuration struct {
	Profiles []struct {
		Plugins      map[string]any `json:"plugins"`
		PluginConfig []struct {
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		} `json:"pluginConfig"`
	} `json:"profiles"`
}

// fieldChanges reads the configuration and returns the fields that are gone. Without -config there are none.
func fieldChanges(o options, stdin io.Reader) ([]fieldChange, error) {
	out := []fieldChange{}
	if o.config == "" {
		return out, nil
	}
	text, err := dump.ReadText(o.config, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	var c configuration
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	before := map[string]bool{}
	for _, f := range refused(c, o.from.Version) {
		before[f.Field+f.Why] = true
	}
	for _, f := range refused(c, o.to.Version) {
		if !before[f.Field+f.Why] {
			out = append(out, f)
		}
	}
	return out, nil
}

// refused returns the fields that a version refuses and some other version takes.
func refused(c configuration, v release.Version) (out []fieldChange) {
	refuse := func(path, why, id string) { out = append(out, fieldChange{path, why, ruleOf(id)}) }
	for i, p := range c.Profiles {
		at := fmt.Sprintf("profiles[%d]", i)
		for _, point := range []struct {
			name  string
			since release.Version
		}{{"placementGenerate", release.V1_36}, {"placementScore", release.V1_36}, {"podGroupPostFilter", release.V1_37}} {
			if _, ok := p.Plugins[point.name]; ok && !v.AtLeast(point.since) {
				refuse(at+".plugins."+point.name, "unknown field", "L11.4")
			}
		}
		for k, x := range p.PluginConfig {
			path := fmt.Sprintf("%s.pluginConfig[%d].args", at, k)
			switch x.Name {
			case "VolumeBinding":
				if _, ok := x.Args["shape"]; ok && !v.AtLeast(release.V1_37) {
					refuse(path+".shape", "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring", "L11.2")
				}
			case "DynamicResources":
				if _, ok := x.Args["bindingTimeout"]; ok && !v.AtLeast(release.V1_35) {
					refuse(path+".bindingTimeout", "unknown field", "L11.3")
				} else if ok && !v.AtLeast(release.V1_36) {
					refuse(path+".bindingTimeout", "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled", "L11.3")
				}
			case "NodeResourcesFit":
				if v.AtLeast(release.V1_36) {
					strategy, _ := x.Args["scoringStrategy"].(map[string]any)
					_, block := strategy["requestedToCapacityRatio"]
					switch path += ".scoringStrategy.requestedToCapacityRatio"; {
					case strategy["type"] == "RequestedToCapacityRatio" && !block:
						refuse(path, "must be specified when type is RequestedToCapacityRatio", "L11.1")
					case strategy["type"] != "RequestedToCapacityRatio" && block:
						refuse(path, "must be nil when type is not RequestedToCapacityRatio", "L11.1")
					}
				}
			}
		}
	}
	return out
}
