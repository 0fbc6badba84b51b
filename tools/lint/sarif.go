package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/tools/report"
)

// sarif is the part of the Static Analysis Results Interchange Format 2.1.0 that findings need.
type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string      `json:"name"`
			Rules []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Columns string        `json:"columnKind"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription sarifMessage `json:"shortDescription"`
	Configuration    struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Prints are equal in two runs for the same rule, object and field, wherever they stand.
	Prints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	} `json:"region"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"` // object and field path
	Kind string `json:"kind"`
}

// sarifText returns the findings as SARIF. The manifests are read again for the places of their fields.
func sarifText(found []lint.Finding, o options) ([]byte, error) {
	in, err := readObjects(o.Files, o.Input)
	if err != nil {
		return nil, err
	}
	return report.Data("json", sarifOf(found, in))
}

// sarifOf returns the findings as one run. A finding has a region where its object stands in a file.
func sarifOf(found []lint.Finding, in objects) sarif {
	run := sarifRun{Columns: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver.Name = "podberth lint"
	for _, r := range lint.Rules() {
		x := sarifRule{ID: r.ID, ShortDescription: sarifMessage{r.Summary}}
		x.Configuration.Level = level(r.Severity)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, x)
	}
	for _, f := range found {
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, Level: level(f.Severity), Message: sarifMessage{f.Explanation + ". Fix: " + f.Fix},
			Locations: []sarifLocation{{physical(in, f), []sarifLogical{{f.Object + ": " + f.Path, "object"}}}},
			Prints:    map[string]string{"podberth/v1": fingerprint(f)},
		})
	}
	return sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

func physical(in objects, f lint.Finding) *sarifPhysical {
	at, ok := in.place(f.Object, f.Path)
	if !ok {
		return nil
	}
	p := new(sarifPhysical)
	p.Artifact.URI, p.Region.Line, p.Region.Column = uri(at.file), at.line, at.column
	return p
}

// fingerprint is what a baseline compares, in a form of one length.
func fingerprint(f lint.Finding) string {
	k := keyOf(f)
	sum := sha256.Sum256([]byte(strings.Join(k[:], "\x00")))
	return hex.EncodeToString(sum[:16])
}

func level(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return string(s)
}
