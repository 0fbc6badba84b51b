package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

// OldVersionError refuses a document of a version that kube-scheduler v1.37 does not read.
type OldVersionError struct {
	// Err is v1.37's error.
	Err error
	// Equivalent is the equivalent document of v1, as YAML; empty when the version never existed.
	Equivalent []byte
	// Notes are about parts of the document that have no equivalent or a different one.
	Notes []string
}

// Error returns v1.37's error, then the equivalent with the notes as comments.
func (e *OldVersionError) Error() string {
	text := e.Err.Error()
	if len(e.Equivalent) == 0 {
		return text
	}
	text += "\nIn " + configv1.SchemeGroupVersion.String() + " it is:\n"
	for _, n := range e.Notes {
		text += "# " + strings.ReplaceAll(n, "\n", " ") + "\n"
	}
	return text + strings.TrimSuffix(string(e.Equivalent), "\n")
}

// Unwrap returns Err.
func (e *OldVersionError) Unwrap() error { return e.Err }

// oldVersions are the versions that existed and that are converted.
var oldVersions = []string{
	"componentconfig/v1alpha1", configv1.GroupName + "/v1alpha1", configv1.GroupName + "/v1alpha2",
	configv1.GroupName + "/v1beta1", configv1.GroupName + "/v1beta2", v1beta3.String(),
}

// ofV1beta3 returns what becomes of a document of v1beta3 that loads as v1 with c or is refused with err. What loads gets a
// warning. What is refused gets the error of v1.37, which reads no v1beta3 at all, with the notes and the equivalent.
func ofV1beta3(c *Configuration, err error, data []byte) (*Configuration, error) {
	if err != nil {
		_, _, refusal := current.Decode(data, nil, nil)
		return nil, oldVersion(refusal, v1beta3.WithKind(configKind), data)
	}
	text := fmt.Sprintf("%v is read as %v, where it means the same; kube-scheduler refuses it since v1.29", v1beta3, configv1.SchemeGroupVersion)
	c.Profiles[0].Warnings = append([]string{text}, c.Profiles[0].Warnings...)
	return c, nil
}

// oldVersion adds the equivalent to v1.37's error when the document has a version that existed.
func oldVersion(err error, gvk schema.GroupVersionKind, data []byte) error {
	out := &OldVersionError{Err: err}
	data = withoutEllipses(data)
	switch {
	case gvk.Kind == "Policy" && (gvk.Group == "" || gvk.Group == "kubescheduler.config.k8s.io"):
		c, notes, bad := ConvertPolicy(data)
		if bad != nil {
			out.Notes = []string{bad.Error()}
			return out
		}
		out.Notes = notes
		out.Equivalent, bad = Encode(c)
		if bad != nil {
			out.Equivalent, out.Notes = nil, []string{bad.Error()}
		}
	case gvk.Kind == configKind && slices.Contains(oldVersions, gvk.GroupVersion().String()):
		out.Equivalent, out.Notes = convertOld(gvk.Version, data)
	default:
		return err
	}
	return out
}

// withoutEllipses drops lines of three dots, which documentation writes for omitted lines. In YAML they end the document.
func withoutEllipses(data []byte) []byte {
	var out [][]byte
	for line := range bytes.Lines(data) {
		if string(bytes.TrimSpace(line)) != "..." {
			out = append(out, line)
		}
	}
	return bytes.Join(out, nil)
}

// mapping is a YAML mapping.
type mapping = map[string]any

// oldDocument converts a KubeSchedulerConfiguration of v1alpha1 to v1beta3, as data: the types of v1alpha1 are not
// published any more.
type oldDocument struct {
	version string // v1alpha1 to v1beta3
	doc     mapping
	notes   []string
}

func (d *oldDocument) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// takeField removes a field and returns its value.
func takeField[T any](from mapping, key string) (value T, ok bool) {
	v, there := from[key]
	delete(from, key)
	value, ok = v.(T)
	return value, there && ok
}

// mappingsOf returns the mappings among the elements of a field.
func mappingsOf(from mapping, key string) []mapping {
	items, _ := from[key].([]any)
	var out []mapping
	for _, item := range items {
		if o, ok := item.(mapping); ok {
			out = append(out, o)
		}
	}
	return out
}

// child returns a field that is a mapping. It makes the field when it is missing.
func child(from mapping, key string) mapping {
	o, ok := from[key].(mapping)
	if !ok {
		o = mapping{}
		from[key] = o
	}
	return o
}

func appendTo(from mapping, key string, item any) {
	items, _ := from[key].([]any)
	from[key] = append(items, item)
}

// convertOld returns the equivalent document of v1. When that document does not load, a note says why.
func convertOld(version string, data []byte) ([]byte, []string) {
	d := oldDocument{version: version}
	if err := yaml.Unmarshal(data, &d.doc); err != nil || d.doc == nil {
		return nil, nil
	}
	if version == "v1alpha1" {
		d.toProfile()
	}
	d.surroundings()
	profiles := mappingsOf(d.doc, "profiles")
	if list, _ := d.doc["profiles"].([]any); len(list) == 0 && d.version != "v1beta3" {
		profiles = d.everyProfile()
	}
	for _, p := range profiles {
		d.profile(p)
	}
	d.timeouts()
	out, err := write(d.doc)
	if err != nil {
		return nil, nil
	}
	if _, err := Load(out); err != nil {
		d.note("to be corrected: %v", err)
	}
	return out, d.notes
}

// toProfile moves the fields that v1alpha1 has at the top into a profile.
func (d *oldDocument) toProfile() {
	profile := mapping{}
	for _, key := range [...]string{"schedulerName", "plugins", "pluginConfig"} {
		if v, ok := d.doc[key]; ok {
			profile[key] = v
			delete(d.doc, key)
		}
	}
	if plugins, ok := profile["plugins"].(mapping); ok {
		if old, ok := plugins["postFilter"]; ok { // v1alpha1 called it after filtering, to prepare the scores
			delete(plugins, "postFilter")
			if _, both := plugins["preScore"]; !both {
				plugins["preScore"] = old
			}
			d.note("plugins.postFilter: called preScore now")
		}
	}
	if w, ok := takeField[float64](d.doc, "hardPodAffinitySymmetricWeight"); ok {
		appendTo(profile, "pluginConfig", mapping{"name": "InterPodAffinity", "args": mapping{"hardPodAffinityWeight": int64(w)}})
	}
	if source, ok := takeField[mapping](d.doc, "algorithmSource"); ok {
		switch provider, _ := source["provider"].(string); {
		case provider == "ClusterAutoscalerProvider":
			args := mapping{"scoringStrategy": mapping{"type": string(configv1.MostAllocated)}}
			appendTo(profile, "pluginConfig", mapping{"name": fitPlugin, "args": args})
		case source["policy"] != nil:
			d.note("algorithmSource.policy: load the policy itself to see what it is today")
		case provider != "" && provider != configv1.SchedulerDefaultProviderName:
			d.note("algorithmSource.provider: there is no provider %q", provider)
		}
	}
	if len(profile) > 0 {
		d.doc["profiles"] = []any{profile}
	}
}

// surroundings handles fields that were removed.
func (d *oldDocument) surroundings() {
	for _, key := range [...]string{"healthzBindAddress", "metricsBindAddress"} {
		if _, ok := d.doc[key]; ok {
			delete(d.doc, key)
			d.note("%s: the flags --bind-address and --secure-port say it", key)
		}
	}
	if _, ok := d.doc["failureDomains"]; ok {
		delete(d.doc, "failureDomains")
		d.note("failureDomains: topologyKey is required in affinity terms")
	}
	if l, ok := d.doc["leaderElection"].(mapping); ok {
		for old, now := range map[string]string{"lockObjectName": "resourceName", "lockObjectNamespace": "resourceNamespace"} {
			if v, ok := l[old]; ok {
				delete(l, old)
				l[now] = v
			}
		}
		if lock, ok := l["resourceLock"].(string); ok && lock != "leases" {
			l["resourceLock"] = "leases"
			d.note("leaderElection.resourceLock: only leases are left")
		}
	}
	for _, x := range mappingsOf(d.doc, "extenders") {
		if v, ok := x["enableHttps"]; ok {
			delete(x, "enableHttps")
			x["enableHTTPS"] = v
		}
	}
	if off, ok := takeField[bool](d.doc, "disablePreemption"); ok && off {
		for _, p := range d.everyProfile() {
			appendTo(child(child(p, "plugins"), "postFilter"), "disabled", mapping{"name": "DefaultPreemption"})
		}
	}
}

// timeouts moves bindTimeoutSeconds to the arguments of VolumeBinding.
func (d *oldDocument) timeouts() {
	if s, ok := takeField[float64](d.doc, "bindTimeoutSeconds"); ok {
		for _, p := range d.everyProfile() {
			appendTo(p, "pluginConfig", mapping{"name": "VolumeBinding", "args": mapping{"bindTimeoutSeconds": int64(s)}})
		}
	}
}

// everyProfile returns the profiles, or a new one when there is none.
func (d *oldDocument) everyProfile() []mapping {
	if profiles := mappingsOf(d.doc, "profiles"); len(profiles) > 0 {
		return profiles
	}
	p := mapping{}
	d.doc["profiles"] = []any{p}
	return []mapping{p}
}
