package taints

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Format returns a taint in kubectl's notation: "key=value:Effect", "key:Effect" without value, "key=value:" without
// effect and "key" with neither.
func Format(t v1.Taint) string { return t.ToString() }

// FormatRemoval returns the notation that removes the taint: "key:Effect-", or "key-" for all effects of the key when the
// effect is empty.
func FormatRemoval(t v1.Taint) string {
	return Format(v1.Taint{Key: t.Key, Effect: t.Effect}) + "-"
}

// ParseOne reads one taint in the notation of "kubectl taint":
//
//	key=value:Effect  add           key=value:Effect-, key:Effect-  remove that effect of the key
//	key:Effect        add           key-                            remove all effects of the key
//
// One trailing "-" makes a removal, whose value is checked and dropped. The effect is checked first, then the value, then
// the key; the errors are kubectl's.
func ParseOne(spec string) (taint v1.Taint, removal bool, err error) {
	s, removal := strings.CutSuffix(spec, "-")
	invalid := func(messages []string) error {
		return fmt.Errorf("invalid taint spec: %s, %s", s, strings.Join(messages, "; "))
	}
	malformed := fmt.Errorf("invalid taint spec: %s", s)
	parts := strings.Split(s, ":")
	taint.Key = parts[0]
	switch len(parts) {
	case 1:
	case 2:
		taint.Effect = v1.TaintEffect(parts[1])
		if !known(taint.Effect) {
			return v1.Taint{}, removal, fmt.Errorf("invalid taint effect: %s, unsupported taint effect", taint.Effect)
		}
		pair := strings.Split(parts[0], "=")
		if len(pair) > 2 {
			return v1.Taint{}, removal, malformed
		}
		taint.Key = pair[0]
		if len(pair) == 2 {
			taint.Value = pair[1]
			if messages := validation.IsValidLabelValue(taint.Value); len(messages) > 0 {
				return v1.Taint{}, removal, invalid(messages)
			}
		}
	default:
		return v1.Taint{}, removal, malformed
	}
	if messages := validation.IsQualifiedName(taint.Key); len(messages) > 0 {
		return v1.Taint{}, removal, invalid(messages)
	}
	if removal {
		return v1.Taint{Key: taint.Key, Effect: taint.Effect}, true, nil
	}
	if taint.Effect == "" {
		return v1.Taint{}, false, malformed
	}
	return taint, false, nil
}

// Parse reads the taints of one "kubectl taint" command, see ParseOne. Two additions with the same key and effect are an
// error; a removal may be repeated. Nothing is returned beside an error.
func Parse(specs []string) (add, remove []v1.Taint, err error) {
	for _, spec := range specs {
		t, removal, err := ParseOne(spec)
		switch {
		case err != nil:
			return nil, nil, err
		case removal:
			remove = append(remove, t)
		case Has(add, &t):
			return nil, nil, fmt.Errorf("duplicated taints with the same key and effect: %v", t)
		default:
			add = append(add, t)
		}
	}
	return add, remove, nil
}

// known reports whether the effect is one of the three that the API knows.
func known(e v1.TaintEffect) bool { return Hard(e) || e == v1.TaintEffectPreferNoSchedule }
