package diagnose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// This file is about fields that the API server refuses: `Pod "p" is invalid: [spec.a: Invalid value: 0: must be greater than zero, spec.b: Required value]`.

var (
	invalidObject = regexp.MustCompile(`(?s)^(\w+)\S* "[^"]*" is invalid: (.+)$`)
	invalidField  = regexp.MustCompile(`(?:^|, )([a-zA-Z][^\s,:]*): (Invalid value|Unsupported value|Duplicate value|Not found|Too long|Required value|Forbidden|Too many|Internal error)(?:: |$)`)
)

const (
	mostFields = 2   // fields of which the sentence has the value
	mostOfText = 110 // runes of a value, and of what is allowed
)

// fieldError is what the API server says of a field.
type fieldError struct{ path, kind, value, detail string }

func (f fieldError) String() string {
	switch f.kind {
	case "Required value":
		return strings.TrimSuffix(f.path+" is required: "+f.detail, ": ")
	case "Duplicate value", "Not found":
		f.value += " " + map[string]string{"Duplicate value": "is there twice", "Not found": "is not found"}[f.kind]
	case "Forbidden", "Too many", "Internal error":
		return fmt.Sprintf("%s: %s", f.path, f.detail)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", f.path, f.value, f.detail), ": ")
}

// fieldErrors returns the first error of each field, in order. One error stands alone, several stand in brackets.
func fieldErrors(text string) (out []fieldError) {
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	found, seen := invalidField.FindAllStringSubmatchIndex(text, -1), map[string]bool{}
	for k, at := range found {
		end := len(text)
		if k+1 < len(found) {
			end = found[k+1][0]
		}
		f := fieldError{path: text[at[2]:at[3]], kind: text[at[4]:at[5]], detail: text[at[1]:end]}
		if seen[f.path] {
			continue
		}
		seen[f.path] = true
		switch f.kind {
		case "Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too long":
			if quoted, err := strconv.QuotedPrefix(f.detail); err == nil {
				f.value, f.detail = quoted, strings.TrimPrefix(f.detail[len(quoted):], ": ")
			} else {
				f.value, f.detail, _ = strings.Cut(f.detail, ": ")
			}
		}
		f.detail, _, _ = strings.Cut(f.detail, " (e.g. ") // examples, and the expression that checks
		f.value, f.detail = shortened(f.value), shortened(f.detail)
		out = append(out, f)
	}
	return out
}

// shortened returns the beginning of a text.
func shortened(text string) string {
	if r := []rune(text); len(r) > mostOfText {
		return string(r[:mostOfText]) + "..."
	}
	return text
}

// ofFields fills in the cause of fields that the API server refuses: each with its value and what is allowed, the first of them in the structure.
func (x *refused) ofFields(cause *Cause, kind, text string) {
	fields := fieldErrors(text)
	if len(fields) == 0 {
		return
	}
	var said []string
	for k := range fields {
		if kind == "Pod" && strings.HasPrefix(fields[k].path, "spec.") {
			fields[k].path = x.owner.path + fields[k].path
		}
		if k < mostFields {
			said = append(said, fields[k].String())
		}
	}
	cause.Field, cause.Wanted, cause.Found = fields[0].path, fields[0].value, fields[0].detail
	cause.Text = fmt.Sprintf("the API server refuses %s: %s", x.owner, strings.Join(said, "; "))
	if n := len(fields) - mostFields; n > 0 {
		cause.Text += "; and " + count(n, "more field")
	}
}
