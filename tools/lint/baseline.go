package lint

import (
	"errors"
	"fmt"

	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/tools/dump"
)

// known are the findings of an earlier answer: rule, object and field. What the finding says of numbers may change.
type known map[[3]string]bool

func keyOf(f lint.Finding) [3]string { return [3]string{f.Rule, f.Object, f.Path} }

// readBaseline reads an answer of lint as JSON or YAML. A path of "" is no baseline, and nil.
func readBaseline(path string, o dump.Options) (known, error) {
	if path == "" {
		return nil, nil
	}
	var a lintReport
	o.Progress = nil
	if _, err := dump.ReadFile(path, nil, &a, o); err != nil {
		return nil, err
	}
	if a.Kind != kind {
		return nil, fmt.Errorf("%s: kind: Unsupported value: %q: must be %s, which lint -o json prints", path, a.Kind, kind)
	}
	k := known{}
	for i, f := range a.Findings {
		if f.Rule == "" || f.Object == "" {
			return nil, fmt.Errorf("%s: findings[%d]: Required value: rule and object", path, i)
		}
		k[keyOf(f)] = true
	}
	return k, nil
}

// errBaseline is the error of a baseline on standard input, which is for manifests.
var errBaseline = errors.New("-baseline: Invalid value: \"-\": must be a file")

// part parts found into what is new, and how many are known. gone counts what the baseline has and found has not.
func (k known) part(found []lint.Finding) (fresh []lint.Finding, old, gone int) {
	met := known{}
	for _, f := range found {
		if k[keyOf(f)] {
			met[keyOf(f)] = true
			old++
		} else {
			fresh = append(fresh, f)
		}
	}
	return fresh, old, len(k) - len(met)
}
