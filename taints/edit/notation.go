package edit

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseOne reads one taint in the notation of "kubectl taint":
//
//	key=value:Effect  add           key=value:Effect-, key:Effect-  remove that effect of the key
//	key:Effect        add           key-                            remove all effects of the key
//
// One trailing "-" makes a removal. ParseOne checks the value of a removal and drops it. It checks the effect first, then
// the value, then the key. The errors are those of kubectl.
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
		if !isEffect(taint.Effect) {
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

// Parse reads the taints of one "kubectl taint" command, each as [ParseOne] does. Two additions with the same key and effect
// are an error; a removal may be repeated. With an error the command is empty.
func Parse(specs []string) (Command, error) {
	var c Command
	for _, spec := range specs {
		t, removal, err := ParseOne(spec)
		switch {
		case err != nil:
			return Command{}, err
		case removal:
			c.Remove = append(c.Remove, t)
		case hasTaint(c.Add, &t):
			return Command{}, fmt.Errorf("duplicated taints with the same key and effect: %v", t)
		default:
			c.Add = append(c.Add, t)
		}
	}
	return c, nil
}

// isEffect reports whether the effect is one of the three effects of the API.
func isEffect(e v1.TaintEffect) bool {
	return e == v1.TaintEffectNoSchedule || e == v1.TaintEffectPreferNoSchedule || e == v1.TaintEffectNoExecute
}
