package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/examples/report"
)

// write prints the attempts in the form asked for.
func write(out io.Writer, entries []entry, form string) error {
	data, err := report.Render(form, struct {
		Pods []entry `json:"pods"`
	}{entries}, func(b *strings.Builder) { b.WriteString(attempts(entries, form)) })
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// writeData prints v as JSON or YAML.
func writeData(out io.Writer, v any, form string) error {
	data, err := report.Data(form, v)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// attempts returns the table of attempts, with more columns in the wide form.
func attempts(entries []entry, form string) string {
	header := []string{"NAMESPACE", "NAME", "PRIORITY", "OUTCOME", "NODE"}
	if form == wide {
		header = append(header, "EVALUATED", "FEASIBLE", "SCORE", "NOMINATED NODE", "VICTIMS")
	}
	var rows [][]string
	for _, e := range entries {
		namespace, name, _ := strings.Cut(e.Pod, "/")
		row := []string{namespace, name, fmt.Sprint(e.Priority), e.Outcome, orNone(e.Node)}
		if form == wide {
			row = append(row, fmt.Sprint(e.evaluated), fmt.Sprint(e.feasible), fmt.Sprint(e.total), orNone(e.NominatedNode), orNone(strings.Join(e.Victims, ",")))
		}
		rows = append(rows, append(row, e.Message))
	}
	return report.Columns(append(header, "MESSAGE"), rows)
}

func orNone(s string) string { return cmp.Or(s, "<none>") }
