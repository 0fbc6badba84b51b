package pressure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/dump"
	"sigs.k8s.io/yaml"
)

const kubeletKind = "KubeletConfiguration"

// setup is what a KubeletConfiguration says about eviction.
type setup struct {
	policy   *pressure.Policy
	config   pressure.Config // completed
	reserved overhead.Reservations
	warnings []string
	given    []string // the signals of the evictionHard that was given, sorted; nil: none was
	lost     []string // the kubelet's own hard thresholds that it replaces
}

// kubeletText returns the configuration that a ConfigMap holds, or the answer of a kubelet's /configz, which names neither kind nor
// version; other text as it is.
func kubeletText(text []byte) ([]byte, error) {
	text, err := dump.InConfigMap(text, kubelet.GroupName, kubeletKind)
	if err != nil {
		return nil, err
	}
	var answer struct {
		KubeletConfig map[string]any `json:"kubeletconfig"`
	}
	if yaml.Unmarshal(text, &answer) != nil || answer.KubeletConfig == nil {
		return text, nil
	}
	answer.KubeletConfig["kind"], answer.KubeletConfig["apiVersion"] = kubeletKind, kubelet.SchemeGroupVersion.String()
	return json.Marshal(answer.KubeletConfig)
}

// loadKubelet reads a configuration, completes it as a kubelet does and checks it. The configuration is that of the file, else that
// of the input, else the defaults.
func loadKubelet(path string, stdin io.Reader, ofInput *dump.Kubelet, goos string, limits dump.Options) (setup, error) {
	var s setup
	var c kubelet.KubeletConfiguration
	switch {
	case path == "" && ofInput != nil && ofInput.Configuration != nil:
		path, c = ofKubelet(ofInput), configurationOf(ofInput.Configuration)
	case path == "" && ofInput != nil:
		s.warnings = append(s.warnings, ofKubelet(ofInput)+" has no configuration: the kubelet's defaults are taken; -kubelet FILE gives a configuration")
	case path != "":
		text, err := dump.ReadText(path, stdin, limits)
		if err != nil {
			return s, err
		}
		inner, err := kubeletText(text)
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		from := path
		if !bytes.Equal(inner, text) || path == "-" {
			from, stdin = "-", bytes.NewReader(inner)
		}
		unknown, err := dump.ReadFile(from, stdin, &c, limits)
		if err != nil {
			return s, err
		}
		if c.Kind != kubeletKind || c.APIVersion != kubelet.SchemeGroupVersion.String() {
			return s, fmt.Errorf("%s: kind: Unsupported value: %q of %q: must be %q of %q", path, c.Kind, c.APIVersion, kubeletKind, kubelet.SchemeGroupVersion.String())
		}
		for _, u := range unknown {
			s.warnings = append(s.warnings, u+"; the kubelet ignores it, too")
		}
	}
	s.config = pressure.Default(pressure.Config{
		EvictionHard:                     c.EvictionHard,
		EvictionSoft:                     c.EvictionSoft,
		EvictionSoftGracePeriod:          c.EvictionSoftGracePeriod,
		EvictionMinimumReclaim:           c.EvictionMinimumReclaim,
		EvictionMaxPodGracePeriod:        c.EvictionMaxPodGracePeriod,
		EvictionPressureTransitionPeriod: c.EvictionPressureTransitionPeriod.Duration,
		EnforceNodeAllocatable:           c.EnforceNodeAllocatable,
		MergeDefaultEvictionSettings:     c.MergeDefaultEvictionSettings != nil && *c.MergeDefaultEvictionSettings,
		IgnoreLocalStorage:               c.LocalStorageCapacityIsolation != nil && !*c.LocalStorageCapacityIsolation,
	}, goos)
	if len(c.EvictionHard) > 0 {
		s.given = slices.Sorted(maps.Keys(c.EvictionHard))
		for signal, value := range pressure.Default(pressure.Config{}, goos).EvictionHard {
			if _, kept := s.config.EvictionHard[signal]; !kept {
				s.lost = append(s.lost, signal+"<"+value)
			}
		}
		slices.Sort(s.lost)
	}
	if d := c.EvictionPressureTransitionPeriod.Duration; d < 0 {
		return s, fmt.Errorf("%s: evictionPressureTransitionPeriod: Invalid value: %q: must not be negative", path, d)
	}
	var err error
	if s.policy, err = pressure.Compile(s.config, pressure.Options{}); err != nil {
		return s, placed(path, s.config, err)
	}
	for _, w := range s.policy.Warnings() {
		s.warnings = append(s.warnings, path+": "+w)
	}
	s.reserved.EvictionHard = s.config.EvictionHard
	if s.reserved.Kube, err = reserve(c.KubeReserved); err != nil {
		return s, fmt.Errorf("%s: kubeReserved%w", path, err)
	}
	if s.reserved.System, err = reserve(c.SystemReserved); err != nil {
		return s, fmt.Errorf("%s: systemReserved%w", path, err)
	}
	return s, nil
}

// placed puts file, field and value in front of the kubelet's own words.
func placed(path string, c pressure.Config, err error) error {
	var bad *pressure.ConfigError
	if !errors.As(err, &bad) {
		return err
	}
	value := map[string]map[string]string{
		"evictionHard": c.EvictionHard, "evictionSoft": c.EvictionSoft,
		"evictionSoftGracePeriod": c.EvictionSoftGracePeriod, "evictionMinimumReclaim": c.EvictionMinimumReclaim,
	}[bad.Field][bad.Signal]
	return fmt.Errorf("%s: %s[%s]: Invalid value: %q: %w", path, bad.Field, bad.Signal, value, bad)
}

// reservable is what a kubelet can reserve.
var reservable = []string{"cpu", "ephemeral-storage", "memory", "pid"}

func reserve(amounts map[string]string) (v1.ResourceList, error) {
	list := v1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		q, err := resources.ParseQuantity(amounts[name])
		switch {
		case !slices.Contains(reservable, name):
			return nil, fmt.Errorf("[%s]: Unsupported value: %q: supported values: %s", name, name, strings.Join(reservable, ", "))
		case err != nil:
			return nil, fmt.Errorf("[%s]: Invalid value: %q: must be a quantity such as 500m, 2 or 1Gi", name, amounts[name])
		case q.Sign() < 0:
			return nil, fmt.Errorf("[%s]: Invalid value: %q: must not be negative", name, amounts[name])
		}
		list[v1.ResourceName(name)] = q
	}
	return list, nil
}
