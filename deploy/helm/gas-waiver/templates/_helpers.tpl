{{- define "gas-waiver.selector" -}}
app.kubernetes.io/name: gas-waiver
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gas-waiver.labels" -}}
{{ include "gas-waiver.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "gas-waiver.name" -}}
{{- if contains "gas-waiver" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-gas-waiver{{ end }}
{{- end }}

{{- define "gas-waiver.scheme" -}}
{{- if .Values.tlsSecretName }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}
